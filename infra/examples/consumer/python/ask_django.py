# A Django view without a proxy. It needs authorize.py in the same folder, and LATCHKEY in the environment.
from functools import wraps
from authorize import authorize
from django.http import HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt

def key(*scopes, **settings):
    def decorate(view):
        @csrf_exempt  # a browser never adds an API key by itself
        @wraps(view)
        def checked(request, *args, **kwargs):
            request.caller, refusal = authorize(request.headers.get("Authorization"), *scopes, **settings)
            if refusal:
                body, status, headers = refusal
                return HttpResponse(body, status=status, headers=headers)
            return view(request, *args, **kwargs)
        return checked
    return decorate

@key("invoices:read")
def invoices(request):
    caller = request.caller
    return JsonResponse({"orgId": caller["org-id"], "name": caller.get("key-name", ""), "scopes": caller.get("scopes", "").split()})
