# Publishes an event of your own to an app of a customer. API, TOKEN, ORG and APP come from the environment.
import json, os, time, urllib.error, urllib.request

event = {"id": "in_4711-paid", "type": "invoice.paid", "data": {"invoice": "in_4711", "amount": 4900}}
address = "{API}/v1/orgs/{ORG}/apps/{APP}/events".format(**os.environ)
request = urllib.request.Request(address, json.dumps({"events": [event]}).encode(), {
    "Authorization": "Bearer " + os.environ["TOKEN"].strip(), "Content-Type": "application/json"})

class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        """Makes a redirect an error, so that no other host gets the token or answers in place of the API."""

for wait in (1, 2, 4, None):  # seconds; the id makes it safe to send the event again
    try:
        with urllib.request.build_opener(NoRedirect).open(request, timeout=10) as answer:
            if answer.status != 202:
                raise SystemExit(f"status {answer.status}")
            print(json.load(answer)["events"][0]["id"])
            break
    except OSError as error:
        isAnswer = isinstance(error, urllib.error.HTTPError)
        if wait is None or isAnswer and error.code < 500 and error.code != 429:
            # Without the body of the answer: a server's text does not belong in a log.
            raise SystemExit(f"status {error.code}" if isAnswer else str(error))
        time.sleep(wait)
    except Exception as error:  # without the text of the error, which can have the token
        raise SystemExit(type(error).__name__) from None
