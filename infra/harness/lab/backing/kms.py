"""A KMS on loopback: moto's server with corrections.

moto hashes the message of Sign and Verify even when MessageType is DIGEST, so
that it signs the hash of a hash (moto's pull request 10202). Until a release
corrects that, this program passes MessageType to the key. Other corrections:
moto accepts a digest of a wrong length, a disabled key, a key for another use,
a wrong signature, and reserved or duplicate tags. It refuses an ARN when it
schedules a key's deletion. This program does not start if moto's internals have
changed, or if a signature over a digest does not verify.

It prints READY once it listens, and ends when its standard input ends.
"""

import base64
import hashlib
import inspect
import json
import os
import sys
import threading
import urllib.request

os.environ.setdefault("MOTO_ACCOUNT_ID", "000000000000")

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from moto.core.exceptions import JsonRESTError
from moto.kms import models, responses, utils
from moto.kms.exceptions import ValidationException
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

HASH = "_ECDSAPrivateKey__hash_algorithm"
call = threading.local()


def correct():
    """Corrects moto, or exits when moto's internals have changed."""
    expected = ["self", "key_id", "message", "signing_algorithm"]
    if list(inspect.signature(models.KmsBackend.sign).parameters) != expected or not hasattr(utils.ECDSAPrivateKey, HASH):
        raise SystemExit("moto's KMS has changed: check whether it still needs the correction of DIGEST")
    hash_algorithm = getattr(utils.ECDSAPrivateKey, HASH)

    def prehashed(self, signing_algorithm):
        algorithm = hash_algorithm(self, signing_algorithm)
        return Prehashed(algorithm) if getattr(call, "digest", False) else algorithm

    setattr(utils.ECDSAPrivateKey, HASH, prehashed)
    schedule = models.KmsBackend.schedule_key_deletion  # moto accepts only a key's id; AWS also accepts an ARN
    models.KmsBackend.schedule_key_deletion = lambda self, key_id, days: schedule(self, self.get_key_id(key_id), days)
    for name in ("sign", "verify"):
        setattr(responses.KmsResponse, name, checking(getattr(responses.KmsResponse, name), name.capitalize()))
    for name in ("create_key", "tag_resource"):
        setattr(responses.KmsResponse, name, tagging(getattr(responses.KmsResponse, name)))


def tagging(method):
    """Refuses the tags that KMS refuses."""

    def wrapped(self):
        names = [tag["TagKey"] for tag in self._get_param("Tags") or []]
        if len(set(names)) < len(names):
            raise JsonRESTError("TagException", "Duplicate tag keys")
        if any(name.lower().startswith("aws:") for name in names):
            raise JsonRESTError("TagException", "Tags beginning with aws: are reserved")
        return method(self)

    return wrapped


def checking(method, operation):
    """Stores MessageType while the method runs. Refuses the calls that KMS refuses: a digest of a wrong length, a disabled key,
    a key for another use, a wrong signature."""

    def wrapped(self):
        call.digest = self._get_param("MessageType") == "DIGEST"
        try:
            bits = int((self._get_param("SigningAlgorithm") or "_0").rsplit("_", 1)[1])
            if call.digest and len(self._get_param("Message")) * 8 != bits:
                raise ValidationException("Digest is invalid length for algorithm %s." % self._get_param("SigningAlgorithm"))
            key = self._get_param("KeyId")
            self._validate_key_id(key)
            known = self.kms_backend.describe_key(key)
            if known.key_state == "Disabled":
                raise JsonRESTError("DisabledException", "%s is disabled." % key)
            if known.key_usage != "SIGN_VERIFY":
                text = "%s key usage is %s which is not valid for %s." % (known.arn, known.key_usage, operation)
                raise JsonRESTError("InvalidKeyUsageException", text)
            answer = method(self)
            if operation == "Verify" and not json.loads(answer)["SignatureValid"]:
                raise JsonRESTError("KMSInvalidSignatureException", "")
            return answer
        finally:
            call.digest = False

    return wrapped


def check_signature(port):
    """Signs a digest over HTTP and verifies the signature without moto."""
    key = call_kms(port, "CreateKey", {"KeySpec": "ECC_NIST_P256", "KeyUsage": "SIGN_VERIFY"})["KeyMetadata"]["KeyId"]
    message = b"text"
    digest = base64.b64encode(hashlib.sha256(message).digest()).decode()
    signed = call_kms(port, "Sign", {"KeyId": key, "Message": digest, "MessageType": "DIGEST", "SigningAlgorithm": "ECDSA_SHA_256"})
    public = call_kms(port, "GetPublicKey", {"KeyId": key})["PublicKey"]
    loaded = serialization.load_der_public_key(base64.b64decode(public))
    loaded.verify(base64.b64decode(signed["Signature"]), message, ec.ECDSA(hashes.SHA256()))


def call_kms(port, action, body):
    # Another region than the product uses, so that the product does not see the key.
    credential = "AWS4-HMAC-SHA256 Credential=a/20200101/eu-north-1/kms/aws4_request, SignedHeaders=host, Signature=a"
    headers = {"X-Amz-Target": "TrentService." + action, "Content-Type": "application/x-amz-json-1.1", "Authorization": credential}
    request = urllib.request.Request("http://127.0.0.1:%d/" % port, json.dumps(body).encode(), headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
        return json.load(answer)


def main():
    port = int(sys.argv[1])
    correct()
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", port, app, threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    check_signature(port)
    print("READY", flush=True)
    while sys.stdin.buffer.read(1024):
        pass
    os._exit(0)


main()
