// Introspects tokens with openid-client, and with oauth4webapi, which openid-client uses. Arguments: the URL of
// /introspect, an API key of the owner's org, and the tokens. It prints a line for each token, library and client authentication.
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';

const [endpoint, secret, ...tokens] = process.argv.slice(2);
const server = { issuer: new URL(endpoint).origin, introspection_endpoint: endpoint };
const show = (way, { active, sub, orgId, scope }) => console.log(way, active ? `${sub} ${orgId} ${scope}` : 'refused');

const plain = new URL(endpoint).protocol === 'http:'; // on your machine only
for (const way of ['ClientSecretBasic', 'ClientSecretPost']) {
  const config = new openid.Configuration(server, 'gateway', undefined, openid[way](secret));
  if (plain) openid.allowInsecureRequests(config);
  const client = { client_id: 'gateway' };
  for (const token of tokens) {
    show('openid-client', await openid.tokenIntrospection(config, token));
    const response = await oauth.introspectionRequest(server, client, oauth[way](secret), token, { [oauth.allowInsecureRequests]: plain });
    show('oauth4webapi', await oauth.processIntrospectionResponse(server, client, response));
  }
}
