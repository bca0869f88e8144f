pub(crate) struct Names {
    any: bool,
    known: Vec<String>,
}

impl Names {
    /// Returns the host names that requests may use (see `console.hosts`). Refusing others prevents DNS rebinding.
    pub(crate) fn new(address: std::net::SocketAddr, hosts: &[String]) -> Self {
        let loopback = address.ip().is_loopback();
        let own = [address.ip().to_string(), format!("[{}]", address.ip())];
        let near = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let near = near.into_iter().filter(|_| loopback);
        let known = hosts.iter().map(|host| host.to_ascii_lowercase()).chain(own).chain(near).collect();
        Self { any: !loopback && hosts.is_empty(), known }
    }

    pub(crate) fn allow(&self, host: &str) -> bool {
        self.any || self.lists(host)
    }

    pub(crate) fn lists(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
            _ => host,
        };
        self.known.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pl_27_on_loopback_only_names_of_loopback_reach_the_console() {
        let names = Names::new("127.0.0.1:50080".parse().unwrap(), &["console.example.com".to_owned()]);
        for host in ["127.0.0.1:50080", "localhost:50080", "LOCALHOST", "[::1]:50080", "console.example.com"] {
            assert!(names.allow(host), "{host}");
        }
        for host in ["", "evil.example", "evil.example:50080", "127.0.0.1.evil.example", "localhost.", "[::1", "a:b"] {
            assert!(!names.allow(host), "{host}");
        }
        let all = Names::new("0.0.0.0:443".parse().unwrap(), &[]);
        assert!(all.allow("console.example.com"));
        let named = Names::new("0.0.0.0:443".parse().unwrap(), &["console.example.com".to_owned()]);
        assert!(named.allow("console.example.com:443") && !named.allow("localhost") && !named.allow("evil.example"));
    }
}
