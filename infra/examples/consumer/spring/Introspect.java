import java.util.List;
import java.util.TreeSet;
import org.springframework.security.oauth2.server.resource.introspection.BadOpaqueTokenException;
import org.springframework.security.oauth2.server.resource.introspection.SpringOpaqueTokenIntrospector;

/**
 * Introspects tokens with Spring's two introspectors: plain sends the client's id and secret unchanged, encoding encodes them first.
 * Arguments: the URL of /introspect, an API key of the owner's org, and the tokens. It prints a line for each token and introspector.
 */
class Introspect {
  public static void main(String[] args) {
    var plain = new SpringOpaqueTokenIntrospector(args[0], "gateway", args[1]);
    var encoding = SpringOpaqueTokenIntrospector.withIntrospectionUri(args[0]).clientId("gateway").clientSecret(args[1]).build();
    for (var introspector : List.of(plain, encoding)) {
      for (int i = 2; i < args.length; i++) {
        try {
          var caller = introspector.introspect(args[i]);
          var authorities = new TreeSet<String>();
          caller.getAuthorities().forEach(a -> authorities.add(a.getAuthority()));
          System.out.println("Spring " + caller.getAttribute("sub") + " " + caller.getAttribute("orgId") + " " + authorities);
        } catch (BadOpaqueTokenException refused) {
          System.out.println("Spring refused");
        }
      }
    }
  }
}
