import java.util.TreeSet;
import org.springframework.security.oauth2.server.resource.introspection.BadOpaqueTokenException;
import org.springframework.security.oauth2.server.resource.introspection.SpringOpaqueTokenIntrospector;

/**
 * Asks Latchkey about tokens as a Spring resource server with opaque tokens does. Arguments: the URL of
 * /introspect, an API key of the owner's org, and the tokens. It prints a line for each token.
 */
class Introspect {
  public static void main(String[] args) {
    var introspector = new SpringOpaqueTokenIntrospector(args[0], "gateway", args[1]);
    for (int i = 2; i < args.length; i++) {
      try {
        var caller = introspector.introspect(args[i]);
        var authorities = new TreeSet<String>();
        caller.getAuthorities().forEach(a -> authorities.add(a.getAuthority()));
        System.out.println(caller.getAttribute("sub") + " " + caller.getAttribute("orgId") + " " + authorities);
      } catch (BadOpaqueTokenException refused) {
        System.out.println("refused");
      }
    }
  }
}
