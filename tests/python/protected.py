import datetime
import hashlib
import ipaddress
import secrets

import grpc
from client import Client
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Protected:
    def __init__(self, folder, operators):
        self.certificate, self.key = folder / "cert.pem", folder / "key.pem"
        certify(self.certificate, self.key)
        self.tokens = {name: secrets.token_urlsafe(32) for name in operators}
        entries = {}
        for name, roles in operators.items():
            operator, credential = name.split("/")
            digest = hashlib.sha256(self.tokens[name].encode()).hexdigest()
            entry = f'[[operators.credentials]]\nname = "{credential}"\ntoken_sha256 = "{digest}"\nroles = {roles}\n'
            entries.setdefault(operator, []).append(entry)
        self.config = f'[tls]\ncertificate = "{self.certificate}"\nkey = "{self.key}"\n'
        for operator, credentials in entries.items():
            self.config += f'[[operators]]\nid = "{operator}"\n' + "".join(credentials)

    def client(self, address, name=None, token=None):
        credentials = grpc.ssl_channel_credentials(self.certificate.read_bytes())
        token = self.tokens[name] if name else token
        if token is not None:
            credentials = grpc.composite_channel_credentials(credentials, grpc.access_token_call_credentials(token))
        return Client(address, credentials)


def certify(certificate, key):
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.datetime.now(datetime.timezone.utc)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    encoding = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    key.write_bytes(private.private_bytes(*encoding))
