import no.nav.security.mock.oauth2.StandaloneMockOAuth2ServerKt;

/**
 * Runs the token issuer at the address in SERVER_HOSTNAME and SERVER_PORT. It prints READY once it
 * listens. It ends when its standard input ends, and so never runs longer than the process that
 * started it.
 */
public final class Issuer {
    public static void main(String[] args) throws Exception {
        StandaloneMockOAuth2ServerKt.main();
        System.out.println("READY");
        while (System.in.read() >= 0) {
            // Ignores the input. Only its end matters.
        }
        System.exit(0);
    }
}
