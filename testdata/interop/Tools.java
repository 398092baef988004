import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;

import org.apache.kafka.common.utils.internals.Exit;

/**
 * Kafka's command-line tools, one after the other in one JVM, since most of what a short one takes is the start of its JVM. Each line of input is
 * the name of a class after {@code org.apache.kafka.tools.} and its arguments, with tabs between them. For each, the exit code and the number of
 * bytes that follow are printed on a line, and then what the tool printed, on standard error last.
 */
public final class Tools {
    /** How the tool that runs has ended. */
    private static CompletableFuture<Integer> ended = new CompletableFuture<>();

    public static void main(String[] arguments) throws Exception {
        // Where a tool would end the JVM its thread ends up waiting, so that it does nothing more.
        Exit.Procedure end = (status, message) -> {
            ended.complete(status);
            while (true) {
                LockSupport.park();
            }
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        PrintStream answers = System.out;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            ByteArrayOutputStream errors = new ByteArrayOutputStream();
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
            int code = run(line.split("\t", -1));
            System.out.flush();
            System.err.flush();
            printed.write(errors.toByteArray());
            answers.println(code + " " + printed.size());
            printed.writeTo(answers);
            answers.flush();
        }
    }

    /** Runs a tool in a thread of its own and gives its exit code. */
    private static int run(String[] words) throws Exception {
        ended = new CompletableFuture<>();
        CompletableFuture<Integer> mine = ended;
        String[] arguments = Arrays.copyOfRange(words, 1, words.length);
        Method main = Class.forName("org.apache.kafka.tools." + words[0]).getMethod("main", String[].class);
        Thread thread = new Thread(() -> {
            try {
                main.invoke(null, (Object) arguments);
                mine.complete(0);
            } catch (InvocationTargetException e) {
                e.getCause().printStackTrace();
                mine.complete(1);
            } catch (IllegalAccessException e) {
                mine.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return mine.get();
    }
}
