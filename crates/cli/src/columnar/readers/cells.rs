//! The text of a value, as it stands in a CSV file, and the number that the text says.

use core::fmt::Write as _;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type};
use arrow_array::{Array, PrimitiveArray, downcast_integer};
use arrow_schema::DataType;

/// Appends the value of a row to a text, or nothing where it is missing.
pub(super) type Cells<'a> = Box<dyn Fn(usize, &mut String) + 'a>;

/// Whether values of this type have a text.
pub(super) fn have_texts(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => !matches!(**values, DataType::Dictionary(..)) && have_texts(values),
        DataType::Null | DataType::Boolean | DataType::Float32 | DataType::Float64 => true,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        kind => kind.is_integer() || kind.is_decimal(),
    }
}

/// The cells of a column, if its values have texts: those that pandas writes to a CSV file.
pub(super) fn cells(column: &dyn Array) -> Option<Cells<'_>> {
    macro_rules! whole {
        ($type:ty) => {
            written::<$type>(column, |number, text| {
                // A text takes all that is written to it.
                let _ = write!(text, "{number}");
            })
        };
    }
    macro_rules! decimal {
        ($type:ty) => {{
            let column: &PrimitiveArray<$type> = column.as_primitive_opt()?;
            present(column, |row, text| text.push_str(&column.value_as_string(row)))
        }};
    }
    macro_rules! texts {
        ($column:expr) => {{
            let column = $column?;
            present(column, |row, text| text.push_str(column.value(row)))
        }};
    }
    downcast_integer!(column.data_type() => (whole),
        DataType::Null => Some(Box::new(|_, _| {})),
        DataType::Boolean => {
            let column = column.as_boolean_opt()?;
            present(column, |row, text| text.push_str(if column.value(row) { "True" } else { "False" }))
        },
        DataType::Float32 => written::<Float32Type>(column, |number, text| {
            text.push_str(zmij::Buffer::new().format(number));
        }),
        DataType::Float64 => written::<Float64Type>(column, |number, text| {
            text.push_str(zmij::Buffer::new().format(number));
        }),
        DataType::Decimal32(..) => decimal!(Decimal32Type),
        DataType::Decimal64(..) => decimal!(Decimal64Type),
        DataType::Decimal128(..) => decimal!(Decimal128Type),
        DataType::Decimal256(..) => decimal!(Decimal256Type),
        DataType::Utf8 => texts!(column.as_string_opt::<i32>()),
        DataType::LargeUtf8 => texts!(column.as_string_opt::<i64>()),
        DataType::Utf8View => texts!(column.as_string_view_opt()),
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary_opt()?;
            let (place, values) = (places(dictionary.keys())?, cells(dictionary.values())?);
            let count = dictionary.values().len();
            present(column, move |row, text| {
                if let Some(place) = place(row).filter(|place| *place < count) {
                    values(place, text);
                }
            })
        },
        _ => None,
    )
}

/// Whether values of this type are numbers whose texts need not be read.
pub(super) fn are_numbers(kind: &DataType) -> bool {
    kind.is_integer() || matches!(kind, DataType::Float32 | DataType::Float64)
}

/// The numbers that the cells of a column say, if it is one of numbers: not one where it is missing.
pub(super) fn numbers(column: &dyn Array) -> Option<Vec<f64>> {
    macro_rules! of {
        ($type:ty, $number:expr) => {{
            let column: &PrimitiveArray<$type> = column.as_primitive_opt()?;
            Some(column.iter().map(|number| number.map_or(f64::NAN, $number)).collect())
        }};
    }
    macro_rules! whole {
        ($type:ty) => {
            of!($type, |number| number as f64)
        };
    }
    downcast_integer!(column.data_type() => (whole),
        // The decimal that people see, which is not the nearest number of double precision.
        DataType::Float32 => of!(Float32Type, |number| zmij::Buffer::new().format(number).parse().unwrap_or(f64::NAN)),
        DataType::Float64 => of!(Float64Type, |number| number),
        _ => None,
    )
}

/// The cells of the rows that have a value.
fn present<'a>(column: &'a dyn Array, write: impl Fn(usize, &mut String) + 'a) -> Option<Cells<'a>> {
    Some(Box::new(move |row, text| {
        if column.is_valid(row) {
            write(row, text);
        }
    }))
}

fn written<'a, T: arrow_array::ArrowPrimitiveType>(
    column: &'a dyn Array,
    write: impl Fn(T::Native, &mut String) + 'a,
) -> Option<Cells<'a>> {
    let column: &PrimitiveArray<T> = column.as_primitive_opt()?;
    present(column, move |row, text| write(column.value(row), text))
}

/// Where in a dictionary the value of a row is.
fn places(keys: &dyn Array) -> Option<Box<dyn Fn(usize) -> Option<usize> + '_>> {
    macro_rules! of {
        ($type:ty) => {{
            let keys: &PrimitiveArray<$type> = keys.as_primitive_opt()?;
            Some(Box::new(move |row| usize::try_from(keys.value(row)).ok()))
        }};
    }
    downcast_integer!(keys.data_type() => (of), _ => None)
}
