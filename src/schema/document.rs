//! The JSON form of a schema.

use core::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Column, ColumnKind, Dialect, Schema, SchemaError, Unseen};
use crate::decimal::Json;
use crate::json::{self, Read, Reader, deserialize_as_json, read_object, write_array, write_text};

const FIELDS: &str = "a column has 'name', 'type' and maybe 'label', a numeric one 'offset' and 'scale', a categorical \
                      one 'values' and 'unseen'";

deserialize_as_json!(Schema);

impl Schema {
    /// Reads a schema. Unknown fields and values that make no sense are errors.
    ///
    /// # Errors
    /// [`SchemaError::Json`].
    pub fn from_json(text: &str) -> Result<Self, SchemaError> {
        json::read(text, Self::read).map_err(SchemaError::Json)
    }

    /// The JSON without spaces, as in a task's canonical JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Read<Self> {
        read_object!(reader, "a schema has 'columns' and maybe 'dialect'", has {
            "columns" => columns: |reader| reader.list(Column::read),
        } may_have {
            "dialect" => dialect: Dialect::read,
        });
        let schema = Self::new(columns).map_err(|error| reader.refused(&error))?;
        Ok(schema.with_dialect(dialect.unwrap_or_default()))
    }

    pub(crate) fn write(&self, out: &mut String) {
        out.push_str("{\"columns\":");
        write_array(&self.columns, out, Column::write);
        if !self.dialect.is_usual() {
            self.dialect.write(out);
        }
        out.push('}');
    }
}

impl Dialect {
    fn read(reader: &mut Reader<'_>) -> Read<Self> {
        read_object!(reader, "a dialect has 'header', 'separator' and 'decimal_comma'", has {
            "header" => header: Reader::boolean,
            "separator" => separator: |reader| {
                let text = reader.text()?;
                let mut letters = text.chars();
                let letter = letters.next().filter(|letter| Self::separates(*letter) && letters.next().is_none());
                letter.ok_or_else(|| reader.unknown_value(&text, "give one character that no number or quote has"))
            },
            "decimal_comma" => decimal_comma: Reader::boolean,
        });
        Ok(Self { header, separator, decimal_comma })
    }

    fn write(self, out: &mut String) {
        out.push_str(&format!(r#","dialect":{{"header":{},"separator":"#, self.header));
        write_text(&String::from(self.separator), out);
        out.push_str(&format!(r#","decimal_comma":{}}}"#, self.decimal_comma));
    }
}

impl Column {
    fn read(reader: &mut Reader<'_>) -> Read<Self> {
        read_object!(reader, FIELDS, has {
            "type" => kind: Reader::text,
        } may_have {
            "name" => name: Reader::text,
            "label" => label: Reader::text,
            "offset" => offset: Reader::number,
            "scale" => scale: Reader::number,
            "values" => values: |reader| reader.list(Reader::text),
            "unseen" => unseen: |reader| match reader.text()?.as_str() {
                "zero" => Ok(Unseen::Zero),
                "other" => Ok(Unseen::Other),
                other => Err(reader
                    .unknown_value(other, "'unseen' is 'zero' or 'other' (no record may be refused for a value)")),
            },
        });
        if kind != "numeric" {
            reader.absent("offset", &offset, FIELDS)?;
            reader.absent("scale", &scale, FIELDS)?;
        }
        if kind != "categorical" {
            reader.absent("values", &values, FIELDS)?;
            reader.absent("unseen", &unseen, FIELDS)?;
        }
        let name = reader.required("name", name)?;
        let kind = match kind.as_str() {
            "numeric" => ColumnKind::Numeric {
                offset: reader.required("offset", offset)?,
                scale: reader.required("scale", scale)?,
            },
            "categorical" => ColumnKind::Categorical {
                values: reader.required("values", values)?,
                unseen: reader.required("unseen", unseen)?,
            },
            "ignored" => ColumnKind::Ignored,
            other => return Err(reader.unknown_value(other, "a column is 'numeric', 'categorical' or 'ignored'")),
        };
        Ok(Self { name, label, kind })
    }

    fn write(&self, out: &mut String) {
        out.push_str(&format!(r#"{{"type":"{}","name":"#, self.kind.name()));
        write_text(&self.name, out);
        if let Some(label) = &self.label {
            out.push_str(",\"label\":");
            write_text(label, out);
        }
        match &self.kind {
            ColumnKind::Numeric { offset, scale } => {
                out.push_str(&format!(r#","offset":{},"scale":{}"#, Json(*offset), Json(*scale)));
            }
            ColumnKind::Categorical { values, unseen } => {
                out.push_str(",\"values\":");
                write_array(values, out, |value, out| write_text(value, out));
                out.push_str(match unseen {
                    Unseen::Zero => ",\"unseen\":\"zero\"",
                    Unseen::Other => ",\"unseen\":\"other\"",
                });
            }
            ColumnKind::Ignored => {}
        }
        out.push('}');
    }
}

/// For serde, against whose output ours is tested.
impl Serialize for Column {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("type", self.kind.name())?;
        fields.serialize_entry("name", &self.name)?;
        if let Some(label) = &self.label {
            fields.serialize_entry("label", label)?;
        }
        match &self.kind {
            ColumnKind::Numeric { offset, scale } => {
                fields.serialize_entry("offset", offset)?;
                fields.serialize_entry("scale", scale)?;
            }
            ColumnKind::Categorical { values, unseen } => {
                fields.serialize_entry("values", values)?;
                fields.serialize_entry("unseen", unseen)?;
            }
            ColumnKind::Ignored => {}
        }
        fields.end()
    }
}

impl ColumnKind {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Numeric { .. } => "numeric",
            Self::Categorical { .. } => "categorical",
            Self::Ignored => "ignored",
        }
    }
}

/// As `type` in the JSON.
impl fmt::Display for ColumnKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
