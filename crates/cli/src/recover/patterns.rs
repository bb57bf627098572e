//! What the components say beside their variance: which cannot be told from each other, and whether they are patterns
//! of several columns.

use ldp_pca::recovery::Answer;
use ldp_pca_page::{single_columns, ties};

pub(super) fn patterns(answer: &Answer) -> String {
    let ties = ties(answer, "component").into_iter().map(|tie| format!("ties        {tie}\n"));
    let none = single_columns(answer, "component").map(|none| format!("pattern     none: {none}\n"));
    ties.chain(none).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_and_single_columns_are_told() {
        let ties = |rank, ties| {
            let mut answer = Answer::default();
            (answer.asked.rank, answer.found.ties) = (rank, ties);
            patterns(&answer)
        };
        assert_eq!(
            ties(3, vec![[0, 1]]),
            "ties        components 1 and 2 cannot be told from each other: any rotation of them fits these reports as \
             well\n"
        );
        assert!(ties(6, vec![[0, 5]]).contains("among components 1 to 6, neighbours cannot be told apart, and"));
        assert!(
            ties(1, vec![[0, 1]]).contains("component 1 cannot be told from the next one, which was not asked for")
        );
        assert!(ties(3, vec![[1, 3]]).contains("among components 2 to 3 and the next one, which was not asked for, "));
        assert_eq!(ties(3, vec![]), "");
        let single = |variances: Vec<Option<f64>>| {
            let mut answer = Answer::default();
            answer.asked.rank = variances.len();
            (answer.found.variances, answer.found.single_columns) = (Some(variances), Some(true));
            patterns(&answer)
        };
        assert!(single(vec![Some(0.2), None]).contains("none: the component holds no more variance than one column"));
        assert!(single(vec![Some(0.2), Some(0.1)]).contains("the 2 components above the noise hold no more variance"));
    }
}
