//! The interface as a document.
