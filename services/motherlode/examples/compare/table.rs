use crate::{Cell, Turn, Way};

type Figure = (&'static str, fn(&Turn) -> Option<f64>);

fn cpu(one: Cell, other: Cell) -> Option<f64> {
    Some(one.cost?.0.cpu_us_per_round / other.cost?.0.cpu_us_per_round)
}

fn server_us(turn: &Turn, way: Way) -> Option<f64> {
    Some(turn.cell(way).cost?.0.cpu_us_per_round)
}

fn client_us(turn: &Turn, way: Way) -> Option<f64> {
    Some(turn.cell(way).cost?.1.cpu_us_per_round)
}

const FIGURES: [Figure; 19] = [
    ("unary CPU / echo CPU", |turn| cpu(turn.cell(Way::Unary), turn.cell(Way::Echo))),
    ("unary CPU / lean echo's CPU", |turn| cpu(turn.cell(Way::Unary), turn.cell(Way::Lean))),
    ("PlayStream CPU / echo CPU", |turn| cpu(turn.cell(Way::Stream), turn.cell(Way::Echo))),
    ("unary context switches / echo's", |turn| {
        Some(turn.cell(Way::Unary).cost?.0.switches_per_round / turn.cell(Way::Echo).cost?.0.switches_per_round)
    }),
    ("unary rate / echo rate", |turn| Some(turn.cell(Way::Unary).rate / turn.cell(Way::Echo).rate)),
    ("PlayStream rate / echo rate", |turn| Some(turn.cell(Way::Stream).rate / turn.cell(Way::Echo).rate)),
    ("PlayStream rate / unary rate", |turn| Some(turn.cell(Way::Stream).rate / turn.cell(Way::Unary).rate)),
    ("unary rate / file rate", |turn| Some(turn.cell(Way::Unary).rate / turn.cell(Way::File).rate)),
    ("unary p50 / echo p50", |turn| Some(turn.cell(Way::Unary).p50 / turn.cell(Way::Echo).p50)),
    ("unary p99 / echo p99", |turn| Some(turn.cell(Way::Unary).p99 / turn.cell(Way::Echo).p99)),
    ("unary p50 / file p50", |turn| Some(turn.cell(Way::Unary).p50 / turn.cell(Way::File).p50)),
    // Several calls in flight share a sync, so the ratio would be meaningless.
    ("unary p50 / one fdatasync", |turn| (turn.in_flight == 1).then_some(turn.cell(Way::Unary).p50 / turn.sync_ms)),
    ("echo: server CPU, us", |turn| server_us(turn, Way::Echo)),
    ("lean echo: server CPU, us", |turn| server_us(turn, Way::Lean)),
    ("unary: server CPU, us", |turn| server_us(turn, Way::Unary)),
    ("PlayStream: server CPU, us", |turn| server_us(turn, Way::Stream)),
    ("echo: client CPU, us", |turn| client_us(turn, Way::Echo)),
    ("unary: client CPU, us", |turn| client_us(turn, Way::Unary)),
    ("PlayStream: client CPU, us", |turn| client_us(turn, Way::Stream)),
];

pub fn print(table: &[(usize, Vec<Turn>)]) {
    print!("| figure |");
    table.iter().for_each(|(in_flight, _)| print!(" {in_flight} in flight |"));
    println!("\n|---|{}", "---|".repeat(table.len()));
    for (name, figure) in FIGURES {
        print!("| {name} |");
        for (_, turns) in table {
            print!(" {} |", median_and_span(turns.iter().filter_map(figure)));
        }
        println!();
    }
}

pub fn median_and_span(figures: impl Iterator<Item = f64>) -> String {
    let mut found: Vec<f64> = figures.collect();
    found.sort_by(f64::total_cmp);
    match (found.first(), found.get(found.len() / 2), found.last()) {
        (Some(least), Some(median), Some(most)) => format!("{median:.2} ({least:.2} to {most:.2})"),
        _ => String::new(),
    }
}
