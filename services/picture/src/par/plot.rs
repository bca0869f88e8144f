use maud::{Markup, html};

const WIDTH: f64 = 720.0;
const LEFT: f64 = 74.0;
const BELOW: f64 = 40.0;
const ABOVE: f64 = 14.0;

fn figure(height: f64, label: &str, drawn: &[Markup]) -> Markup {
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(label) { @for part in drawn { (part) } }
    }
}

fn at(coordinate: f64) -> String {
    format!("{coordinate:.1}")
}

fn text(x: f64, y: f64, anchor: &'static str, label: &str) -> Markup {
    html! { text x=(at(x)) y=(at(y)) text-anchor=(anchor) { (label) } }
}

fn rule(class: &'static str, from: (f64, f64), to: (f64, f64)) -> Markup {
    html! { line class=(class) x1=(at(from.0)) y1=(at(from.1)) x2=(at(to.0)) y2=(at(to.1)) {} }
}

fn bar(class: &str, corner: (f64, f64), size: (f64, f64), says: &str) -> Markup {
    let [x, y, width, height] = [corner.0, corner.1, size.0.max(0.0), size.1.max(0.0)].map(at);
    html! { g { title { (says) } rect class=(class) x=(x) y=(y) width=(width) height=(height) {} } }
}

pub fn parts(shares: &[(f64, String)]) -> Markup {
    let (height, top) = (64.0, 4.0);
    let (mut x, mut drawn) = (0.0, vec![]);
    for (place, (share, says)) in shares.iter().enumerate() {
        let width = share.clamp(0.0, 1.0) * WIDTH;
        drawn.push(bar(&format!("part{}", place % 8), (x, top), ((width - 2.0).max(0.5), 36.0), says));
        x += width;
    }
    let rest = (WIDTH - x).max(0.0);
    drawn.push(bar("rest", (x, top), (rest, 36.0), "the house's share"));
    for tenth in 0..=10 {
        let x = WIDTH * f64::from(tenth) / 10.0;
        let anchor = if tenth == 0 {
            "start"
        } else if tenth == 10 {
            "end"
        } else {
            "middle"
        };
        drawn.push(rule("tick", (x, top + 36.0), (x, top + 41.0)));
        if tenth % 2 == 0 {
            drawn.push(text(x, height - 6.0, anchor, &format!("{} %", tenth * 10)));
        }
    }
    figure(height, "the return by component, as a share of the bet", &drawn)
}

/// Draws a bar for each class of wins, given its lower bound, share of rounds and label. The logarithmic scale begins
/// below `one_round`, the smallest possible share (1 divided by the number of rounds).
pub fn distribution(classes: &[(String, f64, String)], one_round: f64) -> Markup {
    let (height, decades) = (330.0, (-(one_round / 2.0).log10()).ceil().max(1.0));
    let depth = height - ABOVE - BELOW;
    let y = |share: f64| ABOVE + depth * (-share.log10() / decades).clamp(0.0, 1.0);
    let mut drawn = vec![];
    let shares = std::iter::successors(Some(1.0), |share| Some(share / 10.0))
        .take_while(|share| y(*share) < height - BELOW - 1.0);
    for share in shares {
        drawn.push(rule("grid", (LEFT, y(share)), (WIDTH, y(share))));
        let percent = format!("{:.6}", share * 100.0);
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        drawn.push(text(LEFT - 8.0, y(share) + 4.0, "end", &format!("{percent} %")));
    }
    #[allow(clippy::cast_precision_loss)]
    let step = (WIDTH - LEFT) / classes.len() as f64;
    let mut x = LEFT;
    for (label, share, says) in classes {
        if *share > 0.0 {
            drawn.push(bar("bar", (x + 2.0, y(*share)), (step - 4.0, height - BELOW - y(*share)), says));
        }
        drawn.push(text(x + step / 2.0, height - BELOW + 16.0, "middle", label));
        x += step;
    }
    drawn.push(text(
        (LEFT + WIDTH) / 2.0,
        height - 6.0,
        "middle",
        "win of a round as a multiple of the bet (lower bound of each class)",
    ));
    figure(height, "the distribution of a round's win", &drawn)
}

pub struct Bands<'a> {
    pub rtp: f64,
    pub std_dev: f64,
    pub widths: &'a [f64],
    pub decades: (u32, u32),
}

impl Bands<'_> {
    pub fn half(&self, errors: f64, rounds: f64) -> f64 {
        errors * self.std_dev / rounds.sqrt()
    }

    pub fn plot(&self) -> Markup {
        let height = 330.0;
        let (first, last) = (f64::from(self.decades.0), f64::from(self.decades.1));
        let widest = self.widths.first().copied().unwrap_or(1.0);
        let top = ((self.rtp + self.half(widest, 10f64.powf(first))) * 2.0).ceil() / 2.0;
        let x = |decade: f64| LEFT + (WIDTH - LEFT - 10.0) * (decade - first) / (last - first);
        let y = |share: f64| ABOVE + (height - ABOVE - BELOW) * (1.0 - share.clamp(0.0, top) / top);
        let mut drawn = vec![];
        let step = if top > 2.0 { 0.5 } else { 0.25 };
        let mut share = 0.0;
        while share <= top {
            drawn.push(rule("grid", (LEFT, y(share)), (WIDTH, y(share))));
            drawn.push(text(LEFT - 8.0, y(share) + 4.0, "end", &format!("{:.0} %", share * 100.0)));
            share += step;
        }
        let eighths: Vec<f64> =
            (self.decades.0 * 8..=self.decades.1 * 8).map(|eighth| f64::from(eighth) / 8.0).collect();
        for errors in self.widths {
            let edge = |sign: f64| {
                move |decade: &f64| (x(*decade), y(self.rtp + sign * self.half(*errors, 10f64.powf(*decade))))
            };
            let points = eighths.iter().map(edge(1.0)).chain(eighths.iter().rev().map(edge(-1.0)));
            let points: Vec<_> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            drawn.push(html! { polygon.band points=(points.join(" ")) {} });
        }
        drawn.push(rule("exact", (x(first), y(self.rtp)), (x(last), y(self.rtp))));
        for decade in self.decades.0..=self.decades.1 {
            drawn.push(html! {
                text x=(at(x(f64::from(decade)))) y=(at(height - BELOW + 17.0)) text-anchor="middle" {
                    tspan { "10" } tspan dy="-4" font-size="0.78em" { (decade) }
                }
            });
        }
        drawn.push(text((LEFT + WIDTH) / 2.0, height - 6.0, "middle", "rounds played"));
        figure(height, "range of a session's return", &drawn)
    }
}

pub fn payline(number: usize, line: &[u8], rows: u32) -> Markup {
    const CELL: u32 = 9;
    let reels = (0_u32..).zip(line);
    html! {
        div.payline {
            svg viewBox={ "0 0 " (line.len() * CELL as usize) " " (rows * CELL) } role="img" aria-label={ "line " (number) } {
                @for (reel, on) in reels {
                    @for row in 0..rows {
                        rect class=(if u32::from(*on) == row { "on" } else { "off" }) x=(reel * CELL) y=(row * CELL) width="8" height="8" {}
                    }
                }
            }
            span { (number) }
        }
    }
}
