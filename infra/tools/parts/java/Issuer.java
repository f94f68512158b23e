import no.nav.security.mock.oauth2.StandaloneMockOAuth2ServerKt;

/**
 * Runs the token issuer, which takes its address from SERVER_HOSTNAME and SERVER_PORT. It prints
 * READY once it listens, and ends when its standard input does, so that it never outlives the
 * process that started it.
 */
public final class Issuer {
    public static void main(String[] args) throws Exception {
        StandaloneMockOAuth2ServerKt.main();
        System.out.println("READY");
        while (System.in.read() >= 0) {
            // Whatever is written here means nothing; only the end counts.
        }
        System.exit(0);
    }
}
