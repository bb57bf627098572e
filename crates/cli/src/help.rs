//! The examples in the help of every command, two of each: together they are one collection, from the survey to its
//! components.

use super::program::Examples;

#[rustfmt::skip]
pub(super) const EXAMPLES: &Examples = &[
    ("", [
        "ldp-pca demo",
        "ldp-pca task new --schema schema.json --epsilon 2 -o task.json",
    ]),
    ("schema", [
        "ldp-pca schema infer survey.csv -o schema.json",
        "ldp-pca schema infer survey.csv --ignore gaming",
    ]),
    ("schema infer", [
        "ldp-pca schema infer survey.csv -o schema.json",
        "ldp-pca schema infer survey.csv --categories plan=free,paid --ignore id",
    ]),
    ("task", [
        "ldp-pca task new --schema schema.json --epsilon 2 -o task.json",
        "ldp-pca task put task.json --token-file collected/admin.token",
    ]),
    ("task new", [
        "ldp-pca task new --schema schema.json --epsilon 2 -o task.json",
        "ldp-pca task new --schema schema.json --epsilon 2 --centre --folds 5 -o cv.json",
    ]),
    ("task put", [
        "ldp-pca task put task.json --token-file collected/admin.token",
        "ldp-pca task put task.json --token-file admin.token --settings s.json --dry-run",
    ]),
    ("task refine", [
        "ldp-pca task refine --aggregate sums.ldpa --task task.json --rank 3 -o refined.json",
        "ldp-pca task refine --sample public.csv --task task.json --records 50000 -o r.json",
    ]),
    ("task norms", [
        "ldp-pca task norms --schema schema.json --radius 100 --epsilon 1 -o norms.json",
        "ldp-pca task norms --schema s.json --radius 1e4 --epsilon 0.5 -o n.json",
    ]),
    ("task erase", [
        "ldp-pca task erase $ID 00112233445566778899aabbccddeeff",
        "ldp-pca task erase $ID --ids ids.txt --token-file collected/admin.token",
    ]),
    ("task types", [
        "ldp-pca task types task.json",
        "ldp-pca task types task.json > task.ts",
    ]),
    ("randomize", [
        "ldp-pca randomize survey.csv --task task.json -o reports.ldpr",
        "ldp-pca randomize survey.csv --task task.json --url localhost:8080 -o ids.ldpr",
    ]),
    ("encode", [
        "ldp-pca encode survey.csv --task task.json -o features.csv",
        "ldp-pca encode survey.csv --task task.json --bounded -o features.npy",
    ]),
    ("aggregate", [
        "ldp-pca aggregate reports.ldpr --task task.json -o sums.ldpa",
        "ldp-pca aggregate monday.parquet week.ldpa --task task.json -o sums.ldpa",
    ]),
    ("submit", [
        "ldp-pca submit ids.ldpr --task task.json",
        "ldp-pca submit - --task task.json --url localhost:8081 --json < ids.ldpr",
    ]),
    ("recover", [
        "ldp-pca recover sums.ldpa --task task.json --rank 3 --sparse -o loadings.csv",
        "ldp-pca recover may.ldpa --task task.json --rank 3 --other june.ldpa",
    ]),
    ("norms", [
        "ldp-pca norms lengths.ldpa --task norms.json",
        "ldp-pca norms lengths.ldpa --task norms.json --radius 12 --plot lengths.svg",
    ]),
    ("plan", [
        "ldp-pca plan --sample public.csv --task task.json --records 20000",
        "ldp-pca plan --aggregate sums.ldpa --task task.json --target 0.1",
    ]),
    ("simulate", [
        "ldp-pca simulate --epsilon 2 --dimension 12 --records 5000",
        "ldp-pca simulate --epsilon 2 --dimension 40 --sparsity 5 --method pca,fantope",
    ]),
    ("audit", [
        "ldp-pca audit --mechanism double-cap --epsilon 2",
        "ldp-pca audit --mechanism gaussian --epsilon 1 --delta 1e-6 --trials 20000",
    ]),
    ("solve", [
        "ldp-pca solve covariance.npy --rank 3 --penalty 0.05",
        "ldp-pca solve covariance.npy --rank 3 --penalty 0.05 -o solution.npy",
    ]),
    ("inspect", [
        "ldp-pca inspect task.json",
        "ldp-pca inspect reports.ldpr --task task.json --json",
    ]),
    ("account", [
        "ldp-pca account --task task.json --reports 4",
        "ldp-pca account --task task.json --delta 1e-6 --shuffled 100000",
    ]),
    ("serve", [
        "ldp-pca serve --data collected",
        "ldp-pca serve --data collected --task task.json --listen localhost:8081",
    ]),
    ("relay", [
        "ldp-pca relay --data relayed --gateway http://aggregator.example --batch 10000",
        "ldp-pca relay --data relayed --gateway localhost:8080 --batch 10000 --listen localhost:8090",
    ]),
    ("ready", [
        "ldp-pca ready",
        "ldp-pca ready --url localhost:8081",
    ]),
    ("store", [
        "ldp-pca store verify collected",
        "ldp-pca store export collected -o stored.ldpr",
    ]),
    ("store verify", [
        "ldp-pca store verify collected",
        "ldp-pca store verify copy --json",
    ]),
    ("store repair", [
        "ldp-pca store repair copy",
        "ldp-pca store repair copy --json",
    ]),
    ("store export", [
        "ldp-pca store export collected -o stored.ldpr",
        "ldp-pca store export collected --task 5d41 -o stored.parquet",
    ]),
    ("store merge", [
        "ldp-pca store merge first second --into merged",
        "ldp-pca store merge copy --into collected",
    ]),
    ("store restore", [
        "ldp-pca store restore collected 5d41",
        "ldp-pca store restore collected 5d41 --json",
    ]),
    ("demo", [
        "ldp-pca demo",
        "ldp-pca demo --records survey.csv --listen localhost:8081 --once",
    ]),
    ("completions", [
        "ldp-pca completions bash > ~/.local/share/bash-completion/completions/ldp-pca",
        "ldp-pca completions zsh > ~/.zfunc/_ldp-pca",
    ]),
    ("man", [
        "ldp-pca man | man -l -",
        "ldp-pca man ~/.local/share/man/man1",
    ]),
];

/// The commands that `-h` describes; it names the others.
pub(super) const FIRST: [&str; 11] =
    ["schema", "task", "randomize", "aggregate", "submit", "recover", "plan", "simulate", "inspect", "serve", "demo"];
