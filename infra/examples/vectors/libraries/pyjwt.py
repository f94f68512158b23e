"""Prints, for each case of a file of vectors, whether PyJWT accepts the token: python pyjwt.py webhooks.json"""
import datetime
import json
import sys

import jwt

with open(sys.argv[1]) as file:
    vectors = json.load(file)
KEYS = jwt.PyJWKSet.from_dict({"keys": [a["body"] for a in vectors["lookups"].values() if a["status"] == 200]})


class Clock(datetime.datetime):
    """PyJWT has no option for the time, so this class replaces its clock."""

    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(vectors["now"], tz)


jwt.api_jwt.datetime = Clock


def verdict(token):
    try:
        key = KEYS[jwt.get_unverified_header(token)["kid"]]
        jwt.decode(token, key, algorithms=["ES256"], audience=vectors["endpointId"], issuer=vectors["issuer"],
                   leeway=60, options={"require": ["iss", "aud", "iat", "exp"]})
        return "accepts"
    except (jwt.PyJWTError, KeyError):  # KeyError: there is no kid, or no such key
        return "refuses"


for case in vectors["cases"]:
    print(verdict(case["token"]), case["name"], sep="\t")
