import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import java.lang.reflect.Field;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Runs DynamoDB Local on 127.0.0.1 only. DynamoDB Local listens on every interface, and has no option
 * to change that. This program prints READY once it listens. It ends when its standard input ends,
 * and so never runs longer than the process that started it.
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
            // Ignores the input. Only its end matters.
        }
        proxy.stop();
        System.exit(0);
    }
}
