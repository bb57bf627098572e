//! The page's files, and pages of other origins.

use super::harness::*;

#[test]
fn the_page_is_served_with_its_policy_beside_the_interface() {
    let www = Folder::new();
    fs::create_dir(www.path("assets")).unwrap();
    for (name, content) in
        [("index.html", "<title>page</title>"), ("assets/module.wasm", "\0asm"), ("assets/main.js", "export {}")]
    {
        www.write(name, content);
    }
    let (_data, server) = serving(|data| ServerConfig { www: Some(www.path("")), ..config(data) }, &[task()]);
    let page = server.get("/");
    assert_eq!((page.status, page.body.as_slice()), (200, b"<title>page</title>".as_slice()));
    assert_eq!(
        page.header("content-security-policy"),
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src \
         'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert_eq!(page.header("access-control-allow-origin"), "", "the page is for its own origin");
    assert!(page.header("content-type").starts_with("text/html"));
    for (path, media_type) in [("/assets/module.wasm", "application/wasm"), ("/assets/main.js", "text/javascript")] {
        assert_eq!(server.get(path).header("content-type"), media_type);
    }
    let (long, deep) = (format!("/{}", "a".repeat(256)), "/a".repeat(2500));
    for path in ["/missing.js", "/..%2fformat", "/index.html/x", "/a%00b", &long, &deep] {
        server.get(path).refused(404, "unknown-path", &[]);
    }
    server.post("/index.html", "text/plain", b"x").refused(404, "unknown-path", &[]);
    assert_eq!(server.get("/tasks").status, 200);
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_the_page_and_what_is_hidden_stays_so() {
    use std::os::unix::fs::symlink;

    let site = Folder::new();
    let release = site.path("release-3");
    for folder in ["docs", ".git", ".well-known"] {
        fs::create_dir_all(release.join(folder)).unwrap();
    }
    site.write("secret", "secret");
    for (file, text) in [("index.html", "page"), (".env", "secret"), (".git/config", "secret"), (".well-known/x", "x")]
    {
        fs::write(release.join(file), text).unwrap();
    }
    symlink("index.html", release.join("inside.html")).unwrap();
    symlink("../secret", release.join("outside")).unwrap();
    symlink("../../secret", release.join("docs/index.html")).unwrap();
    symlink("..", release.join("up")).unwrap();
    fs::write(release.join("packed.js"), "page").unwrap();
    symlink("../secret", release.join("packed.js.gz")).unwrap();
    // The folder itself may be one: so pages are changed as a whole.
    symlink("release-3", site.path("www")).unwrap();
    let (_data, server) = serving(|data| ServerConfig { www: Some(site.path("www")), ..config(data) }, &[task()]);
    for path in ["/", "/index.html", "/inside.html", "/%69ndex.html"] {
        assert_eq!(server.get(path).body, b"page", "{path}");
    }
    assert_eq!(server.get("/.well-known/x").body, b"x");
    for path in [
        "/outside",
        "/docs/",
        "/packed.js",
        "/up/secret",
        "/.env",
        "/%2eenv",
        "/.git/config",
        "/%2E%2E/secret",
        "/a%00b",
    ] {
        server.get(path).refused(404, "unknown-path", &[]);
    }
}
