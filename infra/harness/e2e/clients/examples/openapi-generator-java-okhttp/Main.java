// Creates three orgs and an API key, uses and revokes the key: BASE_URL=https://… ACCESS_TOKEN=… java -cp … Main.java
// openapi-generator generate -g java --library okhttp-gson -o latchkey -i openapi.yaml

import org.openapitools.client.*;
import org.openapitools.client.api.*;
import org.openapitools.client.auth.HttpBearerAuth;
import org.openapitools.client.model.*;

class Main {
    public static void main(String[] args) throws Exception {
        var admin = client(System.getenv("ACCESS_TOKEN"));
        var orgs = new OrgsApi(admin);
        var keys = new ApiKeysApi(admin);

        Org org = null;
        for (var name : new String[] {"Gamma", "Beta", "Acme"}) {
            org = orgs.createOrg(new OrgCreation().name(name), null);
        }
        var key = keys.createKey(org.getId(), null, new KeyCreation().name("server"));

        var server = new AppsApi(client(key.getKey()));
        System.out.println("the key of " + server.getApp().getOrg().getName() + " works");

        try {
            orgs.getOrg("org_none");
        } catch (ApiException e) {
            System.out.println(e.getCode() + " " + problem(e).getCode());
        }

        int count = 0, pages = 0;
        String cursor = null;
        do {
            var page = orgs.listOrgs(2, cursor, null);
            count += page.getOrgs().size();
            pages++;
            cursor = page.getNextCursor();
        } while (cursor != null);
        System.out.println(count + " orgs in " + pages + " pages");

        keys.revokeKey(org.getId(), key.getId(), null, null);
        try {
            server.getApp();
        } catch (ApiException e) {
            System.out.println(e.getCode() + " " + problem(e).getCode());
        }
    }

    /** Returns a client that sends a credential: an access token or an API key. */
    static ApiClient client(String credential) {
        var client = new ApiClient().setBasePath(System.getenv("BASE_URL"));
        for (var scheme : client.getAuthentications().values()) {
            ((HttpBearerAuth) scheme).setBearerToken(credential);
        }
        return client;
    }

    static Problem problem(ApiException e) throws Exception {
        return Problem.fromJson(e.getResponseBody());
    }
}
