//! The examples in the help of every command, two of each, without its name: together they are one collection, from the
//! survey to its components.

use super::program::Examples;

#[rustfmt::skip]
pub(super) const EXAMPLES: &Examples = &[
    ("", ["demo", "task new --schema schema.json --epsilon 2 -o task.json"]),
    ("schema", ["infer survey.csv -o schema.json", "infer survey.csv --ignore gaming"]),
    ("schema infer", ["survey.csv -o schema.json", "survey.csv --categories plan=free,paid --ignore id"]),
    ("task", ["new --schema schema.json --epsilon 2 -o task.json", "put task.json --token-file collected/admin.token"]),
    ("task new", ["--schema schema.json --epsilon 2 -o task.json",
        "--schema schema.json --epsilon 2 --centre --folds 5 -o cv.json"]),
    ("task put", ["task.json --token-file collected/admin.token",
        "task.json --token-file admin.token --settings s.json --dry-run"]),
    ("task refine", ["--aggregate sums.ldpa --task task.json --rank 3 -o refined.json",
        "--sample public.csv --task task.json --records 50000 -o r.json"]),
    ("task norms", ["--schema schema.json --radius 100 --epsilon 1 -o norms.json",
        "--schema s.json --radius 1e4 --epsilon 0.5 -o n.json"]),
    ("task delete", ["$ID --token-file collected/admin.token", "$ID --token-file admin.token --now --json"]),
    ("task erase", ["$ID 00112233445566778899aabbccddeeff", "$ID --ids ids.txt --token-file collected/admin.token"]),
    ("task types", ["task.json", "task.json > task.ts"]),
    ("randomize", ["survey.csv --task task.json -o reports.ldpr",
        "survey.csv --task task.json --url localhost:8080 -o ids.ldpr"]),
    ("encode", ["survey.csv --task task.json -o features.csv",
        "survey.csv --task task.json --bounded -o features.npy"]),
    ("aggregate", ["reports.ldpr --task task.json -o sums.ldpa",
        "monday.parquet week.ldpa --task task.json -o sums.ldpa"]),
    ("submit", ["ids.ldpr --task task.json", "- --task task.json --url localhost:8081 --json < ids.ldpr"]),
    ("recover", ["sums.ldpa --task task.json --rank 3 --sparse -o loadings.csv",
        "may.ldpa --task task.json --rank 3 --other june.ldpa"]),
    ("scores", ["survey.csv --components components.json -o scores.csv",
        "survey.csv --components components.json -o scores.npy"]),
    ("norms", ["lengths.ldpa --task norms.json", "lengths.ldpa --task norms.json --radius 12 --plot lengths.svg"]),
    ("plan", ["--sample public.csv --task task.json --records 20000",
        "--aggregate sums.ldpa --task task.json --target 0.1"]),
    ("simulate", ["--epsilon 2 --dimension 12 --records 5000",
        "--epsilon 2 --dimension 40 --sparsity 5 --method pca,fantope"]),
    ("audit", ["--mechanism double-cap --epsilon 2", "--mechanism gaussian --epsilon 1 --delta 1e-6 --trials 20000"]),
    ("solve", ["covariance.npy --rank 3 --penalty 0.05", "covariance.npy --rank 3 --penalty 0.05 -o solution.npy"]),
    ("inspect", ["task.json", "reports.ldpr --task task.json --json"]),
    ("account", ["--task task.json --reports 4", "--task task.json --delta 1e-6 --shuffled 100000"]),
    ("serve", ["--data collected", "--data collected --task task.json --listen localhost:8081"]),
    ("relay", ["--data relayed --gateway http://aggregator.example --batch 10000",
        "--data relayed --gateway localhost:8080 --batch 10000 --listen localhost:8090"]),
    ("ready", ["", "--url localhost:8081"]),
    ("doctor", ["--config aggregator.toml", "--data collected --url http://reports.example --json"]),
    ("store", ["verify collected", "export collected -o stored.ldpr"]),
    ("store verify", ["collected", "copy --json"]),
    ("store repair", ["copy", "copy --json"]),
    ("store acknowledge", ["collected", "collected --task 5d41 --audit-log audit.jsonl"]),
    ("store export", ["collected -o stored.ldpr", "collected --task 5d41 -o stored.parquet"]),
    ("store backup", ["collected --to copy", "collected --to copy --json"]),
    ("store merge", ["first second --into merged", "copy --into collected"]),
    ("store restore", ["collected 5d41", "collected 5d41 --json"]),
    ("demo", ["", "--records survey.csv --listen localhost:8081 --once"]),
    ("completions", ["bash > ~/.local/share/bash-completion/completions/ldp-pca", "zsh > ~/.zfunc/_ldp-pca"]),
    ("man", ["| man -l -", "~/.local/share/man/man1"]),
];

/// The commands that `-h` describes; it names the others.
pub(super) const FIRST: [&str; 11] =
    ["schema", "task", "randomize", "aggregate", "submit", "recover", "plan", "simulate", "inspect", "serve", "demo"];
