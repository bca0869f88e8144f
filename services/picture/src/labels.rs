pub(crate) const CELL: usize = 100;
pub(crate) const LABEL: (usize, usize) = (28, 15);
pub(crate) const HUES: usize = 10;

pub(crate) fn spread(wanted: Vec<usize>, height: usize) -> Vec<usize> {
    let mut order: Vec<_> = (0..wanted.len()).collect();
    order.sort_by_key(|at| wanted[*at]);
    let mut places = wanted;
    let mut free = LABEL.0 / 2;
    for at in &order {
        places[*at] = places[*at].max(free);
        free = places[*at] + LABEL.0;
    }
    let mut free = height.saturating_sub(LABEL.0 / 2);
    for at in order.iter().rev() {
        places[*at] = places[*at].min(free);
        free = places[*at].saturating_sub(LABEL.0);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_19_labels_stand_at_their_lines_and_never_over_each_other() {
        assert_eq!(spread(vec![150, 50, 250], 300), [150, 50, 250], "labels that do not overlap keep their positions");
        let crowded = spread(vec![44, 38, 38, 250, 292, 292], 300);
        let mut sorted = crowded.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= LABEL.0), "{crowded:?}");
        assert!(
            crowded.iter().all(|y| (LABEL.0 / 2..=300 - LABEL.0 / 2).contains(y)),
            "within the window: {crowded:?}"
        );
        assert!(crowded[1] < crowded[2] && crowded[2] < crowded[0], "in the order of their lines: {crowded:?}");
        assert_eq!(spread(vec![], 300), Vec::<usize>::new());
    }
}
