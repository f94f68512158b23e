#!/usr/bin/env bash
# Makes a new person at an issuer and prints an access token, for make smoke: TOKEN_CMD="$PWD/infra/examples/token.sh auth0".
# EMAIL, NAME and PASSWORD are for the new person. Each issuer also needs the variables in its lines below. The lines follow
# the issuers' documentation; they were never run.
set -euo pipefail

json() { curl -sf -H 'Content-Type: application/json' "$@"; }
pick() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; } # prints a member of a JSON object

case ${1:-} in
auth0) # needs a machine-to-machine application with create:users, and an application with the grant "Password"
  ADMIN=$(json https://$TENANT/oauth/token -d "{\"grant_type\":\"client_credentials\",\"client_id\":\"$M2M_ID\",\"client_secret\":\"$M2M_SECRET\",\"audience\":\"https://$TENANT/api/v2/\"}" | pick access_token)
  json https://$TENANT/api/v2/users -H "Authorization: Bearer $ADMIN" -d "{\"connection\":\"Username-Password-Authentication\",\"email\":\"$EMAIL\",\"name\":\"$NAME\",\"password\":\"$PASSWORD\",\"email_verified\":true}" > /dev/null
  json https://$TENANT/oauth/token -d "{\"grant_type\":\"http://auth0.com/oauth/grant-type/password-realm\",\"realm\":\"Username-Password-Authentication\",\"client_id\":\"$APP_ID\",\"client_secret\":\"$APP_SECRET\",\"username\":\"$EMAIL\",\"password\":\"$PASSWORD\",\"audience\":\"$AUDIENCE\",\"scope\":\"openid profile email\"}" | pick access_token
  ;;
okta) # needs an API token, and an application with the grant "Resource Owner Password" and no second factor
  json https://$ORG.okta.com/api/v1/users?activate=true -H "Authorization: SSWS $API_TOKEN" -d "{\"profile\":{\"firstName\":\"$NAME\",\"lastName\":\"Smoke\",\"email\":\"$EMAIL\",\"login\":\"$EMAIL\"},\"credentials\":{\"password\":{\"value\":\"$PASSWORD\"}}}" > /dev/null
  curl -sf -u "$APP_ID:$APP_SECRET" https://$ORG.okta.com/oauth2/default/v1/token -d grant_type=password -d scope='openid profile email' --data-urlencode username=$EMAIL --data-urlencode password=$PASSWORD | pick access_token
  ;;
keycloak) # needs a client with "Direct access grants"
  ADMIN=$(curl -sf $HOST/realms/master/protocol/openid-connect/token -d grant_type=password -d client_id=admin-cli -d username=$ADMIN_NAME --data-urlencode password=$ADMIN_PASSWORD | pick access_token)
  json $HOST/admin/realms/$REALM/users -H "Authorization: Bearer $ADMIN" -d "{\"username\":\"$EMAIL\",\"email\":\"$EMAIL\",\"emailVerified\":true,\"enabled\":true,\"firstName\":\"$NAME\",\"lastName\":\"Smoke\",\"credentials\":[{\"type\":\"password\",\"value\":\"$PASSWORD\"}]}"
  curl -sf $HOST/realms/$REALM/protocol/openid-connect/token -d grant_type=password -d client_id=$CLIENT_ID --data-urlencode username=$EMAIL --data-urlencode password=$PASSWORD | pick access_token
  ;;
cognito) # needs the trigger that adds email and email_verified to access tokens, and ALLOW_ADMIN_USER_PASSWORD_AUTH at the client
  aws cognito-idp admin-create-user --user-pool-id $POOL_ID --username $EMAIL --message-action SUPPRESS --user-attributes Name=email,Value=$EMAIL Name=email_verified,Value=true Name=name,Value="$NAME" > /dev/null
  aws cognito-idp admin-set-user-password --user-pool-id $POOL_ID --username $EMAIL --password "$PASSWORD" --permanent
  aws cognito-idp admin-initiate-auth --user-pool-id $POOL_ID --client-id $CLIENT_ID --auth-flow ADMIN_USER_PASSWORD_AUTH --auth-parameters USERNAME=$EMAIL,PASSWORD="$PASSWORD" --query AuthenticationResult.AccessToken --output text
  ;;
supabase) # needs a secret key and a publishable key
  json $PROJECT/auth/v1/admin/users -H "apikey: $SECRET_KEY" -H "Authorization: Bearer $SECRET_KEY" -d "{\"email\":\"$EMAIL\",\"password\":\"$PASSWORD\",\"email_confirm\":true,\"user_metadata\":{\"name\":\"$NAME\"}}" > /dev/null
  json "$PROJECT/auth/v1/token?grant_type=password" -H "apikey: $PUBLISHABLE_KEY" -d "{\"email\":\"$EMAIL\",\"password\":\"$PASSWORD\"}" | pick access_token
  ;;
clerk) # needs a development instance with the JWT template of infra/docs/issuers.md
  USER=$(json https://api.clerk.com/v1/users -H "Authorization: Bearer $SECRET_KEY" -d "{\"email_address\":[\"$EMAIL\"],\"first_name\":\"$NAME\",\"password\":\"$PASSWORD\"}" | pick id)
  SESSION=$(json https://api.clerk.com/v1/sessions -H "Authorization: Bearer $SECRET_KEY" -d "{\"user_id\":\"$USER\"}" | pick id)
  json -X POST https://api.clerk.com/v1/sessions/$SESSION/tokens/$TEMPLATE -H "Authorization: Bearer $SECRET_KEY" | pick jwt
  ;;
*)
  echo "usage: $0 auth0|okta|keycloak|cognito|supabase|clerk" >&2
  exit 2
  ;;
esac
