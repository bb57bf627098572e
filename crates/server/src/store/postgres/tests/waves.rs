//! Second waves of a task that several aggregators serve.

use super::*;
use crate::store::tests::{PLAN, make_second_wave, second_wave, tasks};

#[test]
fn aggregators_agree_on_one_second_wave_and_close_the_first_for_all() {
    let (task, more) = (compact(), tasks().remove(1));
    let Some((cluster, [one, other])) = start(&task) else { return };
    make_second_wave([&one.store, &other.store], &task, false);
    let [one, other] = [(); 2].map(|()| Aggregator::open(&cluster.address(), slice::from_ref(&more)));
    let named = make_second_wave([&one.store, &other.store], &more, true);
    // One that does not know of the second wave changes the settings.
    let settings = TaskSettings { minimum_batch: Some(4), ..TaskSettings::default() };
    other.store.put(more.clone(), settings.clone()).unwrap();
    let closed = TaskSettings { refined_by: Some(named), ..settings.closing(PLAN) };
    eventually("the first names it", || *one.reports_of(&more).settings() == closed);
    // A second wave that the first does not name, as after an operator's change by hand.
    one.execute("UPDATE ldp_pca.tasks SET settings = settings - 'refined_by'");
    let again = other.store.open_second_wave(more.digest(), second_wave(&more, 2, 5));
    assert_eq!(again.unwrap(), Some((named, Put::Updated)));
}
