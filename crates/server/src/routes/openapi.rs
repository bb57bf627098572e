//! The OpenAPI 3.1 description of the interface: `GET /openapi.json`.

/// The document, written by hand beside docs/reference/http-api.md. Tests compare it with the code.
pub(in super::super) const OPENAPI: &str = include_str!("openapi.json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::super::{GATEWAY, REPORTS};
    use super::*;
    use crate::problem::{Reason, Rejected, urn};

    fn document() -> Value {
        serde_json::from_str(OPENAPI).unwrap()
    }

    fn texts(array: &Value) -> Vec<&str> {
        array.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
    }

    #[test]
    fn every_problem_stands_under_its_status_and_no_other_does() {
        let document = document();
        let mut stated = BTreeSet::new();
        for response in document["components"]["responses"].as_object().unwrap().values() {
            let [_, about] =
                &response["content"]["application/problem+json"]["schema"]["allOf"].as_array().unwrap()[..]
            else {
                panic!("{response}")
            };
            let status = about["properties"]["status"]["const"].as_u64().unwrap();
            stated.extend(texts(&about["properties"]["type"]["enum"]).into_iter().map(|urn| (status, urn.to_owned())));
        }
        let kinds = Reason::ALL.iter().map(|kind| (u64::from(kind.status().as_u16()), urn(kind.name())));
        // The one that is answered before there is a request (`net::accept`).
        let known = kinds.chain([(503, urn("too-many-connections"))]).collect();
        assert_eq!(stated, known);
        let rejections = &document["components"]["schemas"]["Rejection"]["properties"]["type"]["enum"];
        assert_eq!(texts(rejections), Rejected::ALL.iter().map(|why| urn(why.name())).collect::<Vec<_>>());
    }

    #[test]
    fn every_problem_and_path_is_in_the_documentation() {
        let manual = include_str!("../../../../docs/reference/http-api.md");
        let names = Reason::ALL.iter().map(|kind| kind.name()).chain(Rejected::ALL.iter().map(|why| why.name()));
        for name in names {
            assert!(manual.contains(&format!("| `{name}` |")), "docs/reference/http-api.md lacks {name}");
        }
        for path in document()["paths"].as_object().unwrap().keys() {
            assert!(manual.contains(path), "docs/reference/http-api.md lacks {path}");
        }
    }

    #[test]
    fn every_route_is_a_path_and_the_other_way_round() {
        let mut routes = BTreeSet::new();
        for argument in include_str!("mod.rs").split(".route(").skip(1) {
            routes.insert(match argument.strip_prefix('"').and_then(|rest| rest.split('"').next()) {
                Some(path) => path,
                // Those that other files name too.
                None if argument.starts_with("GATEWAY") => GATEWAY,
                None => REPORTS,
            });
        }
        let document = document();
        assert_eq!(document["paths"].as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>(), routes);
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn follow(value: &Value, document: &Value) {
            match value {
                Value::Object(members) => {
                    if let Some(Value::String(reference)) = members.get("$ref") {
                        let target = reference.strip_prefix('#').and_then(|path| document.pointer(path));
                        assert!(target.is_some(), "{reference}");
                    }
                    members.values().for_each(|member| follow(member, document));
                }
                Value::Array(elements) => elements.iter().for_each(|element| follow(element, document)),
                _ => {}
            }
        }
        follow(&document(), &document());
    }
}
