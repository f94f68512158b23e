import com.nimbusds.jose.*;
import com.nimbusds.jose.jwk.*;
import com.nimbusds.jose.jwk.source.ImmutableJWKSet;
import com.nimbusds.jose.proc.*;
import com.nimbusds.jose.util.JSONObjectUtils;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.proc.*;
import java.nio.file.*;
import java.text.ParseException;
import java.util.*;

/** Prints, for each case of a file of vectors, whether Nimbus JOSE + JWT accepts the token: java Nimbus webhooks.json */
public class Nimbus {
    @SuppressWarnings("unchecked") // casts of parsed JSON
    public static void main(String[] args) throws Exception {
        Map<String, Object> vectors = JSONObjectUtils.parse(Files.readString(Path.of(args[0])));
        List<JWK> keys = new ArrayList<>();
        for (Object lookup : JSONObjectUtils.getJSONObject(vectors, "lookups").values()) {
            Map<String, Object> answer = (Map<String, Object>) lookup;
            if (JSONObjectUtils.getInt(answer, "status") == 200) {
                keys.add(JWK.parse(JSONObjectUtils.getJSONObject(answer, "body")));
            }
        }
        Date now = new Date(JSONObjectUtils.getLong(vectors, "now") * 1000);
        JWTClaimsSet exact = new JWTClaimsSet.Builder().issuer(JSONObjectUtils.getString(vectors, "issuer")).build();
        var claims = new DefaultJWTClaimsVerifier<SecurityContext>(
                JSONObjectUtils.getString(vectors, "endpointId"), exact, Set.of("iat", "exp")) {
            @Override
            protected Date currentTime() {
                return now;
            }
        };
        claims.setMaxClockSkew(60); // seconds
        var processor = new DefaultJWTProcessor<SecurityContext>();
        processor.setJWSTypeVerifier(new DefaultJOSEObjectTypeVerifier<>(new JOSEObjectType("webhook+jwt")));
        processor.setJWSKeySelector(new JWSVerificationKeySelector<>(JWSAlgorithm.ES256, new ImmutableJWKSet<>(new JWKSet(keys))));
        processor.setJWTClaimsSetVerifier(claims);
        for (Map<String, Object> vector : JSONObjectUtils.getJSONObjectArray(vectors, "cases")) {
            String verdict = "accepts";
            try {
                processor.process(JSONObjectUtils.getString(vector, "token"), null);
            } catch (ParseException | BadJOSEException | JOSEException e) {
                verdict = "refuses";
            }
            System.out.println(verdict + "\t" + JSONObjectUtils.getString(vector, "name"));
        }
    }
}
