//! The repository's documents on how the library works, what it guarantees, and why. This module has text only. The
//! pictures are only in the repository.

/// A page for each document, whose links lead to the other pages. Of two definitions of a link the first counts: on
/// these pages the ones here, and in a document read as a file the ones at its end.
macro_rules! documents {
    ($($name:ident: $file:literal,)*) => {$(
        #[doc = "\
[Gaussian]: crate::_documentation::gaussian
[Gaussian module]: crate::mechanism::gaussian
[about a mean]: crate::_documentation::how_many_people#about-an-estimated-mean
[assumptions of Gaussian]: crate::_documentation::gaussian#assumptions
[assumptions of double-cap]: crate::_documentation::double_cap#assumptions
[bias]: crate::_documentation::double_cap#how-unbiased-the-estimate-is
[centring]: crate::centring
[components format]: crate::_documentation::wire_format#components
[double-cap]: crate::_documentation::double_cap
[double-cap module]: crate::mechanism::double_cap
[every record]: crate::_documentation::records#a-record-on-its-own-gives-a-report
[erasing a report]: https://docs.rs/crate/ldp-pca/latest/source/docs/operate/erase-and-close.md
[family law]: crate::_documentation::inference#several-epsilons
[feature test]: crate::_documentation::inference#the-features-that-take-part
[held out]: crate::_documentation::inference#the-method-is-chosen-on-reports-held-out
[http-api]: https://docs.rs/crate/ldp-pca/latest/source/docs/reference/http-api.md
[inference]: crate::_documentation::inference
[keys]: https://docs.rs/crate/ldp-pca/latest/source/docs/reference/json.md
[not protected]: crate::_documentation::double_cap#what-it-does-not-protect-against
[penalty]: crate::_documentation::penalty
[rank test]: crate::_documentation::inference#the-rank-is-tested-one-component-after-the-other
[recover]: crate::_documentation::recover
[redrawn noise]: crate::_documentation::inference#the-interval-of---bootstrap
[relay]: https://docs.rs/crate/ldp-pca/latest/source/docs/operate/relay.md
[share found]: crate::_documentation::how_many_people#share-found
[shuffling]: https://docs.rs/crate/ldp-pca/latest/source/docs/operate/relay.md
[support]: crate::_documentation::solver#from-x-to-components
[support conditions]: https://docs.rs/crate/ldp-pca/latest/source/src/recovery/support.rs
[text files]: crate::_documentation::records#separators-of-text-files
[threat model]: crate::_documentation::threat_model
[ties]: crate::_documentation::inference#ties-and-single-columns
[timing]: crate::_documentation::threat_model#timing
[tolerance]: crate::_documentation::solver#when-to-stop
[tradeoff]: crate::privacy::tradeoff
[two collections]: crate::_documentation::inference#two-collections
[wire format]: crate::_documentation::wire_format#tags
[what a report tells]: crate::_documentation::threat_model#what-a-report-lets-anybody-tell
"]
        #[doc = include_str!(concat!("../docs/", $file))]
        pub mod $name {}
    )*};
}

documents! {
    double_cap: "privacy/double-cap.md",
    gaussian: "privacy/gaussian.md",
    centring: "privacy/centring.md",
    threat_model: "privacy/threat-model.md",
    records: "guides/records.md",
    wire_format: "reference/wire-format.md",
    how_many_people: "guides/how-many-people.md",
    recover: "guides/recover.md",
    inference: "reference/inference.md",
    penalty: "reference/penalty.md",
    solver: "reference/solver.md",
}
