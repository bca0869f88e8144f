use motherlode_proto::convert::play::hex;
use motherlode_runtime::connect::Credentials;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::{error::Error, fmt::Write as _, fs, io, path::Path};

const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";
const TOKEN: &str = "a token that only this comparison has";

pub struct Identity {
    pub certificate: String,
    pub key: String,
}

impl Identity {
    pub fn make() -> Result<Self, Box<dyn Error>> {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()])?;
        Ok(Self { certificate: cert.pem(), key: signing_key.serialize_pem() })
    }

    pub fn read(folder: &Path) -> io::Result<Self> {
        let read = |name| fs::read_to_string(folder.join(name));
        Ok(Self { certificate: read(CERTIFICATE)?, key: read(KEY)? })
    }

    pub fn write(&self, folder: &Path) -> Result<String, Box<dyn Error>> {
        fs::write(folder.join(CERTIFICATE), &self.certificate)?;
        fs::write(folder.join(KEY), &self.key)?;
        let path = |name| folder.join(name).display().to_string();
        let mut section = format!("[tls]\ncertificate = \"{}\"\nkey = \"{}\"\n", path(CERTIFICATE), path(KEY));
        let digest = hex(&motherlode_log::hash(TOKEN.as_bytes()));
        writeln!(section, "[[operators]]\nid = \"loadtest\"\n[[operators.credentials]]\nname = \"compare\"")?;
        writeln!(section, "token_sha256 = \"{digest}\"\nroles = [\"play\", \"wallet\", \"support\"]")?;
        Ok(section)
    }

    pub fn credentials(&self) -> Credentials {
        Credentials {
            token: Some(TOKEN.to_owned()),
            ca: Some(self.certificate.clone().into_bytes()),
            server_name: Some("localhost".to_owned()),
            ..Credentials::default()
        }
    }
}
