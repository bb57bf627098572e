//! Applies the faults of tests/faults.toml, such as a careless maintainer might make, one by one: each must fail a
//! test.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::run::Runner;
use crate::tree::{self, Built};
use crate::{Error, GROUPS, Group, Options, Places, list};

#[derive(Deserialize)]
struct Faults {
    fault: Vec<Fault>,
}

#[derive(Clone, Deserialize, Serialize)]
pub struct Fault {
    name: String,
    file: String,
    /// The text right before `old`, if `old` alone is not unique.
    #[serde(default)]
    before: String,
    old: String,
    new: String,
    kind: Kind,
    /// The statement that would no longer be true.
    promise: String,
}

#[derive(Clone, Copy, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// `old` and `new` are expressions of one type.
    Expression,
    /// They are statements that bind nothing.
    Statements,
    /// Anything else: it takes a build of its own. Faults in JavaScript, which takes no build, have this kind.
    Text,
}

impl Fault {
    fn apply(&self, text: &str, new: &str) -> Result<String, Error> {
        let place = format!("{}{}", self.before, self.old);
        match text.matches(&place).count() {
            1 => Ok(text.replacen(&place, &format!("{}{new}", self.before), 1)),
            count => Err(format!("{}: {count} places in {} have its text", self.name, self.file).into()),
        }
    }

    fn switched(&self, number: usize) -> String {
        let on = format!("crate::mutant_switch::on({number})");
        match self.kind {
            Kind::Expression => format!("(if {on} {{ {} }} else {{ {} }})", self.new, self.old),
            _ => format!("if {on} {{ {} }} else {{ {} }}", self.new, self.old),
        }
    }
}

pub fn judge(root: &Path, options: &Options) -> Result<bool, Error> {
    let places = Places::of(root)?;
    let faults: Faults = toml::from_str(&fs::read_to_string(root.join("tests/faults.toml"))?)?;
    let mut faults = faults.fault;
    faults.retain(|fault| options.names.is_empty() || options.names.contains(&fault.name));
    let (client, native): (Vec<Fault>, Vec<Fault>) =
        faults.iter().cloned().partition(|fault| fault.file.starts_with("pkg/"));
    let found = Mutex::new(judge_client(root, &places, &client)?);
    for (index, group) in GROUPS.iter().enumerate() {
        let of_group: Vec<Fault> = native.iter().filter(|fault| Group::of(&fault.file) == index).cloned().collect();
        if of_group.is_empty() {
            continue;
        }
        tree::copy(root, &places.tree)?;
        tree::add_switch(&places.tree.join(group.sources), of_group.len() as u32)?;
        let (mut alone, mut switched) = (Vec::new(), Vec::new());
        for (number, fault) in (1..).zip(&of_group) {
            let path = places.tree.join(&fault.file);
            fault.apply(&fs::read_to_string(root.join(&fault.file))?, &fault.new)?;
            // Code that another fault has already changed also needs its own build.
            match fault.apply(&fs::read_to_string(&path)?, &fault.switched(number)) {
                Ok(text) if fault.kind != Kind::Text => {
                    tree::write(&path, text.as_bytes())?;
                    switched.push((number, fault));
                }
                _ => alone.push(fault),
            }
        }
        let runner = Runner { folder: &places.tree, scratch: &places.scratch, jobs: options.jobs };
        let tests = group.known_tests(&places, &runner)?;
        runner.for_each(switched.len(), "faults", |index| {
            let (number, fault) = switched[index];
            let caught = runner.caught_by(number as u32, &tests, &list::test_prefix(&fault.file));
            found.lock().expect("nothing panics here").insert(fault.name.clone(), caught);
        });
        for fault in alone {
            let path = places.tree.join(&fault.file);
            let before = fs::read_to_string(&path)?;
            let text = fs::read_to_string(root.join(&fault.file))?;
            tree::write(&path, fault.apply(&text, &fault.new)?.as_bytes())?;
            let caught = match group.build(&places)? {
                Built::Errors(_) => Some("the compiler".to_owned()),
                Built::Executables(_) => runner.caught_by_any(&tests, &list::test_prefix(&fault.file)),
            };
            found.lock().expect("nothing panics here").insert(fault.name.clone(), caught);
            tree::write(&path, before.as_bytes())?;
        }
    }
    let found = found.into_inner().expect("nothing panics here");
    if options.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        for fault in &faults {
            match &found[&fault.name] {
                Some(test) => println!("{:44} {test}", fault.name),
                None => println!("{:44} NOT NOTICED: {}", fault.name, fault.promise.trim()),
            }
        }
        let caught = found.values().filter(|test| test.is_some()).count();
        println!("{caught} of {} faults are noticed", found.len());
    }
    Ok(found.values().all(Option::is_some))
}

/// By which test of the client each of its faults is noticed.
fn judge_client(root: &Path, places: &Places, faults: &[Fault]) -> Result<BTreeMap<String, Option<String>>, Error> {
    if faults.is_empty() {
        return Ok(BTreeMap::new());
    }
    let list = places.scratch.join("faults.json");
    fs::write(&list, serde_json::to_vec(faults)?)?;
    let mut command = Command::new("node");
    command.args(["scripts/mutants.js", "--faults"]).arg(&list).current_dir(root).stderr(Stdio::inherit());
    let output = command.output()?;
    if !output.status.success() {
        return Err("scripts/mutants.js --faults failed".into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
