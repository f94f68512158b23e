# A middleware for Django behind the proxy: "behind_django.from_proxy" in MIDDLEWARE, and a view that reads request.caller.
import hmac, os
from urllib.parse import unquote
from django.http import HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

def from_proxy(get_response):
    def answer(request):
        sent = {name[11:].lower(): value for name, value in request.headers.items() if name.startswith("X-Latchkey-")}
        if not hmac.compare_digest(sent.pop("proxy-secret", "").encode(), os.environ["PROXY_SECRET"].encode()):
            return HttpResponse(status=403)
        if sent.get("v") != "1" or sent.get("kind") != "key":
            return HttpResponse(status=500)  # the proxy has not checked a key
        request.caller = {name: unquote(value) for name, value in sent.items()}
        return get_response(request)
    return answer

@csrf_exempt  # a browser never adds an API key by itself
def invoices(request):
    caller = request.caller
    return JsonResponse({"orgId": caller["org-id"], "name": caller.get("key-name", ""), "scopes": caller.get("scopes", "").split()})
