//! The page's files, and pages of other origins.

use std::fs;

use ldp_pca_server::{ServerConfig, ServerError};
use tempfile::tempdir;

use super::harness::{Running, config, task};

#[test]
fn the_page_is_served_with_its_policy_beside_the_interface() {
    let (data, www) = (tempdir().unwrap(), tempdir().unwrap());
    fs::write(www.path().join("index.html"), "<title>page</title>").unwrap();
    fs::create_dir(www.path().join("assets")).unwrap();
    fs::write(www.path().join("assets/module.wasm"), b"\0asm").unwrap();
    fs::write(www.path().join("assets/main.js"), "export {}").unwrap();
    let settings = ServerConfig { www: Some(www.path().to_owned()), ..config(data.path()) };
    let server = Running::start(settings, &[task()]);
    let page = server.get("/");
    assert_eq!((page.status, page.body.as_slice()), (200, b"<title>page</title>".as_slice()));
    assert_eq!(
        page.header("content-security-policy"),
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src \
            'self' blob:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert_eq!(page.header("access-control-allow-origin"), "", "the page is for its own origin");
    assert!(page.header("content-type").starts_with("text/html"));
    assert_eq!(server.get("/assets/module.wasm").header("content-type"), "application/wasm");
    assert_eq!(server.get("/assets/main.js").header("content-type"), "text/javascript");
    server.get("/missing.js").assert_problem(404, "unknown-path", &[]);
    server.get("/..%2fformat").assert_problem(404, "unknown-path", &[]);
    server.post("/index.html", "text/plain", b"x").assert_problem(404, "unknown-path", &[]);
    assert_eq!(server.get("/tasks").status, 200);
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_the_page_and_what_is_hidden_stays_so() {
    use std::os::unix::fs::symlink;

    let (data, site) = (tempdir().unwrap(), tempdir().unwrap());
    let release = site.path().join("release-3");
    fs::create_dir_all(release.join("docs")).unwrap();
    fs::create_dir_all(release.join(".git")).unwrap();
    fs::create_dir_all(release.join(".well-known")).unwrap();
    fs::write(site.path().join("secret"), "secret").unwrap();
    for (file, text) in [("index.html", "page"), (".env", "secret"), (".git/config", "secret"), (".well-known/x", "x")]
    {
        fs::write(release.join(file), text).unwrap();
    }
    symlink("index.html", release.join("inside.html")).unwrap();
    symlink("../secret", release.join("outside")).unwrap();
    symlink("../../secret", release.join("docs/index.html")).unwrap();
    symlink("..", release.join("up")).unwrap();
    // The folder itself may be one: so pages are changed as a whole.
    symlink("release-3", site.path().join("www")).unwrap();
    let server = Running::start(ServerConfig { www: Some(site.path().join("www")), ..config(data.path()) }, &[task()]);
    for path in ["/", "/index.html", "/inside.html", "/%69ndex.html"] {
        assert_eq!(server.get(path).body, b"page", "{path}");
    }
    assert_eq!(server.get("/.well-known/x").body, b"x");
    for path in ["/outside", "/docs/", "/up/secret", "/.env", "/%2eenv", "/.git/config", "/%2E%2E/secret", "/a%00b"] {
        server.get(path).assert_problem(404, "unknown-path", &[]);
    }
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let data = tempdir().unwrap();
    let settings = ServerConfig { www: Some(data.path().join("dist")), ..config(data.path()) };
    let Err(error) = Running::try_start(settings, &[task()]) else { panic!("served a page that is not there") };
    assert!(matches!(error, ServerError::Page { .. }) && error.to_string().contains("dist"), "{error}");
}
