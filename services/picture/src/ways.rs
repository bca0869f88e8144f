use crate::{
    draw::cells,
    figures::grouped,
    labels::{CELL, HUES, LABEL, spread},
};
use maud::{Markup, html};
use motherlode_proto::round::v1::{SpinResult, Win};

pub(crate) struct Ways<'a> {
    won: Vec<(&'a Win, Vec<Vec<usize>>)>,
    reels: usize,
    height: usize,
}

impl<'a> Ways<'a> {
    pub(crate) fn new(spin: &'a SpinResult) -> Self {
        let (reels, rows) = cells::size(spin);
        let on = |win: &Win, reel: usize| {
            let symbol = usize::try_from(win.symbol).unwrap_or(usize::MAX);
            (0..rows).filter(|row| cells::cell(spin, reel, *row) == Some(symbol)).collect::<Vec<_>>()
        };
        let over = |win: &Win| usize::try_from(win.count).unwrap_or(usize::MAX).min(reels);
        let ways = spin.wins.iter().filter(|win| win.ways > 0);
        let won = ways.map(|win| (win, (0..over(win)).map(|reel| on(win, reel)).collect())).collect();
        Self { won, reels, height: rows * CELL }
    }

    pub(crate) fn gutter(&self) -> usize {
        let longest = self.won.iter().map(|(win, _)| coins(win).chars().count()).max();
        longest.map_or(0, |digits| digits * LABEL.1 + 34)
    }

    pub(crate) fn drawn(&self) -> Markup {
        let middle = |rows: Option<&Vec<usize>>| {
            let rows = rows.filter(|rows| !rows.is_empty());
            rows.map_or(0, |rows| (rows.iter().sum::<usize>() * CELL) / rows.len() + CELL / 2)
        };
        let left = spread(self.won.iter().map(|(_, reels)| middle(reels.first())).collect(), self.height);
        let right = spread(self.won.iter().map(|(_, reels)| middle(reels.last())).collect(), self.height);
        let ends = left.into_iter().zip(right);
        let won = self.won.iter().zip(ends).enumerate();
        html! { @for (at, ((win, reels), ends)) in won { (self.one(at, win, reels, ends)) } }
    }

    fn one(&self, at: usize, win: &Win, reels: &[Vec<usize>], (left, right): (usize, usize)) -> Markup {
        let shift = 38 + at % 5 * 6;
        let point = |reel: usize, row: usize| format!("{} {}", reel * CELL + CELL / 2, row * CELL + shift);
        let mut ways: Vec<String> = vec![];
        for (reel, pair) in reels.windows(2).enumerate() {
            let each = pair[0].iter().flat_map(|from| pair[1].iter().map(move |to| (*from, *to)));
            ways.extend(each.map(|(from, to)| format!("M{}L{}", point(reel, from), point(reel + 1, to))));
        }
        let hue = format!("line line{}", at % HUES);
        html! {
            path class={ (hue) " way" } d=(ways.concat()) {}
            text class={ "number " (hue) } x="-6" y=(left + 8) { (grouped(&win.ways.to_string())) "×" }
            text class={ "coins " (hue) } x=(self.reels * CELL + 16) y=(right + 8) { (coins(win)) }
        }
    }
}

fn coins(win: &Win) -> String {
    format!("+{}", grouped(&win.coins.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dm_03_every_way_of_a_win_is_drawn_from_reel_to_reel() {
        let columns: [&[usize]; 5] = [&[0, 3], &[0, 1, 2], &[1, 3], &[], &[0]];
        let cells = columns.iter().flat_map(|rows| (0..4).map(|row| u8::from(rows.contains(&row)))).collect();
        let win = Win { symbol: 1, count: 3, ways: 12, coins: 1_200, ..Win::default() };
        let spin = SpinResult { rows: 4, cells, wins: vec![win], ..SpinResult::default() };
        let drawn = Ways::new(&spin).drawn().into_string();
        assert_eq!(drawn.matches('M').count(), 2 * 3 + 3 * 2, "{drawn}");
        assert!(drawn.contains("M50 38L150 38") && drawn.contains(">12×</text>") && drawn.contains(">+1,200</text>"));
        let none = SpinResult { rows: 4, cells: vec![0; 20], ..SpinResult::default() };
        assert_eq!((Ways::new(&none).drawn().into_string(), Ways::new(&none).gutter()), (String::new(), 0));
        let odd = Win { symbol: 900, count: 90, ways: 1, ..Win::default() };
        let odd = SpinResult { rows: 4, cells: vec![0; 20], wins: vec![odd], ..SpinResult::default() };
        assert!(!Ways::new(&odd).drawn().into_string().contains('M'), "a malformed message is drawn without ways");
    }
}
