import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import java.lang.reflect.Field;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Runs DynamoDB Local on 127.0.0.1 only. By itself it listens on every interface, without an option
 * to change that. It prints READY once it listens, and ends when its standard input does, so that
 * it never outlives the process that started it.
 */
public final class Loopback {
    public static void main(String[] args) throws Exception {
        DynamoDBProxyServer proxy = ServerRunner.createServerFromCommandLineArgs(args);
        Field field = DynamoDBProxyServer.class.getDeclaredField("server");
        field.setAccessible(true);
        Connector[] connectors = ((Server) field.get(proxy)).getConnectors();
        for (Connector connector : connectors) {
            ((ServerConnector) connector).setHost("127.0.0.1");
        }
        if (connectors.length == 0) {
            throw new IllegalStateException("DynamoDB Local has no connector to keep on loopback");
        }
        proxy.start();
        System.out.println("READY");
        while (System.in.read() >= 0) {
            // The input has no meaning; only its end has.
        }
        proxy.stop();
        System.exit(0);
    }
}
