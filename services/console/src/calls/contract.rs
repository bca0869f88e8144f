use crate::json::MESSAGES;
use motherlode_runtime::access::CALLS;
use prost_reflect::MethodDescriptor;
use std::{collections::BTreeMap, sync::LazyLock};

const OF_NODES: &str = "motherlode.log.v1.LogService";

pub(super) static METHODS: LazyLock<BTreeMap<(&'static str, &'static str), MethodDescriptor>> = LazyLock::new(|| {
    // Services that this process calls but does not serve are omitted.
    let here = |method: &MethodDescriptor| {
        let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
        CALLS.iter().any(|call| call.path == path && !path.contains(OF_NODES))
    };
    let methods = MESSAGES.services().flat_map(|service| service.methods().filter(here).collect::<Vec<_>>());
    let named = |method: MethodDescriptor| {
        let name = |name: &str| -> &'static str { Box::leak(name.to_owned().into_boxed_str()) };
        ((name(method.parent_service().name()), name(method.name())), method)
    };
    methods.map(named).collect()
});

pub(super) fn path(method: &MethodDescriptor) -> String {
    format!("/v1/{}/{}", method.parent_service().name(), method.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_27_every_call_of_the_table_but_those_of_nodes_has_one_path() {
        let wanted = CALLS.iter().filter(|call| !call.path.contains(OF_NODES)).count();
        assert_eq!(METHODS.len(), wanted);
        assert_eq!(path(&METHODS[&("SpinService", "Spin")]), "/v1/SpinService/Spin");
        assert!(!METHODS.keys().any(|(service, _)| *service == "LogService"));
    }
}
