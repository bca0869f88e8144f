use super::{
    rounds::{self, Ticket},
    table::Connection,
};
use std::{
    sync::Arc,
    task::{Context, Poll},
};

pub(super) struct InTurn {
    connection: Arc<Connection>,
    place: Option<Ticket>,
}

impl InTurn {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        Self { connection, place: None }
    }

    pub(super) fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        work: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if let Some(share) = self.connection.competes()
            && !rounds::enter(share, &mut self.place, context.waker())
        {
            return Poll::Pending;
        }
        work(context)
    }
}

impl Drop for InTurn {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            rounds::leave(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::table::{Admitted, Bounds, Table},
        *,
    };
    use crate::{
        config::{Config, Limits},
        operators::Operators,
    };
    use parking_lot::Mutex;
    use std::{future::poll_fn, net::Ipv4Addr, task::Waker};
    use tokio::task::JoinSet;

    fn competing() -> [Admitted; 2] {
        let config = Config::parse("[[operators]]\nid = 'acme'\nweight = 2").unwrap();
        let operators = Operators::of_config(&config);
        let table = Table::new(Bounds { operators, ..Bounds::for_limits(&Limits::default(), 1 << 20) });
        ["acme", "other"].map(|operator| {
            let admitted = table.admit(Ipv4Addr::LOCALHOST.into()).unwrap();
            admitted.0.belongs_to(Some((operator, "key"))).unwrap();
            admitted.0.called();
            admitted
        })
    }

    type Order = Arc<Mutex<Vec<&'static str>>>;

    fn spawn(
        tasks: &mut JoinSet<()>,
        order: &Order,
        connection: &Admitted,
        name: &'static str,
        count: u32,
        work: usize,
    ) {
        for _ in 0..count {
            let (order, connection) = (Arc::clone(order), Arc::clone(&connection.0));
            let mut turn = InTurn::new(Arc::clone(&connection));
            tasks.spawn(poll_fn(move |context| {
                turn.poll(context, |_| {
                    connection.spend(work);
                    order.lock().push(name);
                    Poll::Ready(())
                })
            }));
        }
    }

    fn count(order: &[&str], name: &str) -> usize {
        order.iter().filter(|one| **one == name).count()
    }

    #[tokio::test]
    async fn at_b3_a_task_waits_for_one_round_of_another_operators_tasks_whatever_their_number() {
        let [acme, other] = competing();
        let (mut tasks, order) = (JoinSet::new(), Order::default());
        spawn(&mut tasks, &order, &acme, "acme", 1_000, 0);
        spawn(&mut tasks, &order, &other, "other", 1, 0);
        while tasks.join_next().await.is_some() {}
        let order = order.lock();
        assert_eq!((order.len(), order.iter().position(|name| *name == "other")), (1_001, Some(16)));
    }

    #[tokio::test]
    async fn at_b3_operators_do_work_by_weight_in_each_round() {
        let [acme, other] = competing();
        let (mut tasks, order) = (JoinSet::new(), Order::default());
        spawn(&mut tasks, &order, &acme, "acme", 100, 0);
        spawn(&mut tasks, &order, &other, "other", 100, 0);
        while tasks.join_next().await.is_some() {}
        for round in order.lock().chunks_exact(16 + 8).take(100 / 16) {
            assert_eq!([count(round, "acme"), count(round, "other")], [16, 8], "{round:?}");
        }
    }

    #[tokio::test]
    async fn at_b3_the_calls_that_a_task_begins_are_work() {
        let [acme, other] = competing();
        let (mut tasks, order) = (JoinSet::new(), Order::default());
        spawn(&mut tasks, &order, &acme, "acme", 10, 64);
        spawn(&mut tasks, &order, &other, "other", 10, 1);
        while tasks.join_next().await.is_some() {}
        assert_eq!(count(&order.lock()[..5], "acme"), 1, "a task began more calls than a round allows");
        assert_eq!(order.lock().len(), 20);
    }

    #[tokio::test]
    async fn at_b3_a_task_that_is_dropped_waits_no_longer() {
        let [_acme, other] = competing();
        let mut turns = [(); 10].map(|()| InTurn::new(Arc::clone(&other.0)));
        let mut context = Context::from_waker(Waker::noop());
        let entered = turns.each_mut().map(|turn| turn.poll(&mut context, |_| Poll::Ready(())).is_ready());
        assert_eq!(entered.map(usize::from).iter().sum::<usize>(), 8);
        let waiting = rounds::waiting;
        assert_eq!(waiting(), 2);
        drop(turns);
        assert_eq!(waiting(), 0);
    }

    #[tokio::test]
    async fn at_b3_an_operator_that_calls_alone_has_no_rounds() {
        let table = Table::new(Bounds::for_limits(&Limits::default(), 1 << 20));
        let alone = table.admit(Ipv4Addr::LOCALHOST.into()).unwrap();
        alone.0.belongs_to(Some(("acme", "key"))).unwrap();
        assert_eq!((alone.0.competes(), alone.0.turn(64)), (None, 64));
    }
}
