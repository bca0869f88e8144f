use super::parts::{section, table};
use crate::{
    days,
    failure::Failure,
    text::{count, eur},
    visit::Visit,
};
use maud::{Markup, PreEscaped, html};
use motherlode_proto::report::v1::{GetPoolStatementRequest, GetPoolStatementResponse};
use tonic::{Code, Response};

const DAYS: i64 = 14;
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 160.0;
const TOP: f64 = 14.0;

struct Day {
    date: String,
    increments: String,
    reserve: String,
    funding: String,
    paid: String,
    hits: usize,
}

type Line = (&'static str, &'static str, fn(&Day) -> &str);

const LINES: [Line; 4] = [
    ("k", "Increments", |day| &day.increments),
    ("r", "Reserve", |day| &day.reserve),
    ("h", "House funding", |day| &day.funding),
    ("p", "Paid", |day| &day.paid),
];

pub(super) async fn course(visit: &Visit, pool_id: &str, date: &str) -> Result<Markup, Failure> {
    let Ok(last) = days::begin(date) else { return Ok(Markup::default()) };
    let mut days = vec![];
    for back in 0..DAYS {
        let date = days::date(last - back * days::SECONDS);
        let request = GetPoolStatementRequest { pool_id: pool_id.to_owned(), date };
        match visit.api.report().get_pool_statement(request).await {
            Ok(answer) => days.push(Day::new(answer.into_inner())),
            Err(status) if status.code() == Code::NotFound => break,
            Err(status) => return section("Course", Err::<Response<()>, _>(status), |()| Markup::default()),
        }
    }
    days.reverse();
    Ok(shown(&days))
}

impl Day {
    fn new(told: GetPoolStatementResponse) -> Self {
        let closing = told.closing.unwrap_or_default();
        Self {
            date: told.date,
            increments: closing.increments_eur,
            reserve: closing.reserve_eur,
            funding: closing.house_funding_eur,
            paid: closing.paid_eur,
            hits: told.hits.len(),
        }
    }
}

fn shown(days: &[Day]) -> Markup {
    let [first, .., last] = days else { return Markup::default() };
    let row = |day: &Day| {
        let figures = LINES.map(|(_, _, of)| html! { (eur(of(day))) });
        [html! { (day.date) }].into_iter().chain(figures).chain([html! { (count(day.hits)) }]).collect()
    };
    let head: Vec<_> = ["Day"].into_iter().chain(LINES.map(|(_, name, _)| name)).chain(["Hits"]).collect();
    let label = format!(
        "Increments, reserve, house funding and payments of the pool from {} to {}, with marks for jackpot hits",
        first.date, last.date
    );
    html! {
        section {
            h2 { "Course" }
            p.legend {
                @for (class, name, _) in LINES { span.swatch.{ "line-" (class) } {} (name) " " }
                span.swatch.part4 {} "Jackpot hits, each shown at the end of its day"
            }
            svg.course viewBox={ "0 0 " (WIDTH) " " (HEIGHT + TOP + 16.0) } role="img" aria-label=(label) { (PreEscaped(drawn(days))) }
            details { summary { "In figures" } (table("Course", &head, days.iter().map(row).collect())) }
        }
    }
}

fn drawn(days: &[Day]) -> String {
    let number = |text: &str| text.parse::<f64>().unwrap_or_default();
    let each = days.iter().flat_map(|day| LINES.map(|(_, _, of)| number(of(day))));
    let most = each.fold(1.0, f64::max);
    let step = WIDTH / f64::from(u32::try_from(days.len().saturating_sub(1)).unwrap_or(1).max(1));
    let across = |at: usize| step * f64::from(u32::try_from(at).unwrap_or_default());
    let down = |text: &str| TOP + HEIGHT * (1.0 - number(text) / most);
    let line = |class: &str, of: fn(&Day) -> &str| {
        let points: Vec<_> =
            days.iter().enumerate().map(|(at, day)| format!("{:.1},{:.1}", across(at), down(of(day)))).collect();
        format!("<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "))
    };
    let hit = |(at, day): (usize, &Day)| {
        let title = format!("<title>{}: {} hits</title>", day.date, day.hits);
        format!("<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\">{title}</circle>", across(at), down(&day.increments))
    };
    let hits: String = days.iter().enumerate().filter(|(_, day)| day.hits > 0).map(hit).collect();
    let [first, .., last] = days else { return String::new() };
    let bottom = TOP + HEIGHT;
    let scale = format!(
        "<line class=\"grid\" x1=\"0\" y1=\"{TOP}\" x2=\"{WIDTH}\" y2=\"{TOP}\"/><line class=\"grid\" x1=\"0\" y1=\"{bottom}\" \
         x2=\"{WIDTH}\" y2=\"{bottom}\"/><text x=\"0\" y=\"10\">{most:.0} EUR</text><text x=\"0\" y=\"{0}\">{1}</text><text \
         class=\"end\" x=\"{WIDTH}\" y=\"{0}\">{2}</text>",
        bottom + 13.0,
        first.date,
        last.date
    );
    let lines: String = LINES.iter().map(|(class, _, of)| line(class, *of)).collect();
    [scale, lines, hits].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_24_a_pools_course_is_drawn_to_scale_with_its_hits() {
        let day = |date: &str, increments: &str, hits| {
            let (date, increments) = (date.to_owned(), increments.to_owned());
            Day { date, increments, reserve: "50.000000000".into(), funding: "20".into(), paid: "200".into(), hits }
        };
        let days = [day("2027-01-01", "0", 0), day("2027-01-02", "200", 0), day("2027-01-03", "100.5", 2)];
        let drawn = drawn(&days);
        assert!(drawn.contains("<polyline class=\"k\" points=\"0.0,174.0 320.0,14.0 640.0,93.6\"/>"), "{drawn}");
        assert!(drawn.contains("<polyline class=\"r\" points=\"0.0,134.0 320.0,134.0 640.0,134.0\"/>"), "{drawn}");
        assert!(drawn.contains("<polyline class=\"h\" points=\"0.0,158.0 320.0,158.0 640.0,158.0\"/>"), "{drawn}");
        assert_eq!(drawn.matches("<polyline").count(), 4, "K, R, H and P");
        assert_eq!(drawn.matches("<circle").count(), 1, "a day with hits has one mark");
        assert!(drawn.contains("<title>2027-01-03: 2 hits</title>") && drawn.contains(">200 EUR</text>"), "{drawn}");
        assert_eq!(shown(&days[..1]).into_string(), "", "one day has no course");
    }
}
