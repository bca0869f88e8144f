//! Compiles the `.proto` files with a compiler in Rust, so the build does not need protoc.

use prost::Message;
use prost_build::ServiceGenerator;
use prost_types::{DescriptorProto, FileDescriptorSet, MethodDescriptorProto};
use std::{
    collections::BTreeMap,
    env,
    fmt::{self, Write as _},
    fs::{self, OpenOptions},
    io::Write as _,
    path::PathBuf,
};

const PROTOS: [&str; 20] = [
    "motherlode/round/v1/round.proto",
    "motherlode/spin/v1/spin.proto",
    "motherlode/ledger/v1/affected.proto",
    "motherlode/ledger/v1/day.proto",
    "motherlode/ledger/v1/ledger.proto",
    "motherlode/jackpot/v1/jackpot.proto",
    "motherlode/log/v1/acts.proto",
    "motherlode/log/v1/draws.proto",
    "motherlode/log/v1/log.proto",
    "motherlode/log/v1/wallets.proto",
    "motherlode/log/v1/copied.proto",
    "motherlode/log/v1/log_service.proto",
    "motherlode/report/v1/lists.proto",
    "motherlode/report/v1/report.proto",
    "motherlode/report/v1/service_status.proto",
    "motherlode/proof/v1/proof.proto",
    "motherlode/wallet/v1/wallet.proto",
    "motherlode/job/v1/job.proto",
    "motherlode/admin/v1/admin.proto",
    // The descriptors of these messages are needed to write refusals as JSON.
    "google/rpc/error_details.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=motherlode");
    println!("cargo:rerun-if-changed=google");
    let descriptors = protox::compile(PROTOS, ["."])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("motherlode.bin"), descriptors.encode_to_vec())?;
    let contract = Contract::new(&descriptors);
    fs::write(out.join("calls.rs"), contract.calls()?)?;
    fs::write(out.join("messages.rs"), contract.messages())?;
    let mut config = prost_build::Config::new();
    let served = tonic_prost_build::configure().build_client(false).service_generator();
    config.service_generator(Box::new(Served(served)));
    tonic_prost_build::configure()
        .build_client(false)
        .build_server(false)
        .extern_path(".google.rpc", "::tonic_types::pb")
        .boxed(".motherlode.spin.v1.PlayStreamResponse.answer.played")
        .compile_fds_with_config(descriptors, config)?;
    for service in &contract.0 {
        let generated = out.join(format!("{}.rs", service.package));
        OpenOptions::new().append(true).open(generated)?.write_all(service.client()?.as_bytes())?;
    }
    Ok(())
}

const PLAY_STREAM: &str = "PlayStream";

struct Served(Box<dyn ServiceGenerator>);

impl ServiceGenerator for Served {
    fn generate(&mut self, mut service: prost_build::Service, code: &mut String) {
        service.methods.retain(|method| method.proto_name != PLAY_STREAM);
        self.0.generate(service, code);
    }
}

struct Contract(Vec<Service>);

struct Service {
    package: String,
    name: String,
    methods: Vec<Method>,
}

struct Method {
    kind: &'static str,
    name: String,
    names: [i32; 4],
    request: String,
    answer: String,
}

impl Contract {
    fn new(descriptors: &FileDescriptorSet) -> Self {
        let messages: Vec<_> = descriptors
            .file
            .iter()
            .flat_map(|file| {
                file.message_type.iter().map(|message| (format!(".{}.{}", file.package(), message.name()), message))
            })
            .collect();
        let names = |name: &str| {
            let message: Option<&DescriptorProto> =
                messages.iter().find_map(|(of, message)| (of == name).then_some(*message));
            ["request_id", "account", "player_id", "round_id"].map(|name| {
                let field = message.and_then(|message| message.field.iter().find(|field| field.name() == name));
                field.map_or(0, |field| field.number())
            })
        };
        let method = |method: &MethodDescriptorProto| Method {
            names: names(method.input_type()),
            kind: match (method.client_streaming(), method.server_streaming()) {
                (false, false) => "unary",
                (false, true) => "server_streaming",
                (true, _) => "streaming",
            },
            name: method.name().to_owned(),
            request: path(method.input_type()),
            answer: path(method.output_type()),
        };
        let services = descriptors.file.iter().flat_map(|file| {
            file.service.iter().map(|service| Service {
                package: file.package().to_owned(),
                name: service.name().to_owned(),
                methods: service.method.iter().map(method).collect(),
            })
        });
        Self(services.collect())
    }

    fn calls(&self) -> Result<String, fmt::Error> {
        let mut list = String::new();
        for Service { package, name, methods } in &self.0 {
            let module = path(package);
            let mut traits = vec![format!("{module}::{}_server::{name}", snake(name))];
            if methods.iter().any(|method| method.name == PLAY_STREAM) {
                traits.push(format!("crate::play_stream::{PLAY_STREAM}"));
            }
            writeln!(list, "served! {{ [{}], {name}Calls, \"{package}.{name}\",", traits.join(", "))?;
            for Method { kind, name: method, .. } in methods {
                let kind = if method == PLAY_STREAM { "play_stream" } else { kind };
                writeln!(list, "    \"/{package}.{name}/{method}\" {kind} {}", snake(method))?;
            }
            list.push_str("}\n");
        }
        Ok(list)
    }

    fn messages(&self) -> String {
        let methods = self.0.iter().flat_map(|service| &service.methods);
        let mut messages = BTreeMap::new();
        for method in methods {
            messages.entry(&*method.answer).or_insert([0; 4]);
            messages.insert(&*method.request, method.names);
        }
        let fields = |fields: &[i32; 4]| fields.map(|field| field.to_string()).join(" ");
        let messages: Vec<_> =
            messages.iter().map(|(message, names)| format!("{message} = {}", fields(names))).collect();
        format!("wire! {{ {} }}\n", messages.join(", "))
    }
}

impl Service {
    fn client(&self) -> Result<String, fmt::Error> {
        let Self { package, name, methods } = self;
        let mut client = format!("pub mod {}_client {{\n    crate::clients::called! {{\n", snake(name));
        writeln!(client, "        {name}Client, \"{package}.{name}\",")?;
        for Method { kind, name: method, request, answer, .. } in methods {
            let called = snake(method);
            writeln!(client, "        {kind} {called} \"/{package}.{name}/{method}\" {request} => {answer};")?;
        }
        client.push_str("    }\n}\n");
        Ok(client)
    }
}

fn path(name: &str) -> String {
    let name = name.trim_start_matches('.');
    format!("crate::{}", name.strip_prefix("motherlode.").unwrap_or(name).replace('.', "::"))
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
