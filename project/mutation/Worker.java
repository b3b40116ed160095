import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;

/** Runs a suite for each line "mutant suite", and answers "killed" or "survived". */
public final class Worker {
  public static void main(String[] none) throws Exception {
    PrintStream answers = System.out;
    System.setOut(new PrintStream(OutputStream.nullOutputStream()));
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      String[] request = line.split(" ");
      String active = "mutant." + request[0];
      System.setProperty(active, "true");
      boolean passed = org.scalatest.tools.Runner.run(new String[] {"-s", request[1], "-oW", "-S", "91"});
      System.clearProperty(active);
      answers.println(passed ? "survived" : "killed");
      answers.flush();
    }
    Runtime.getRuntime().halt(0);
  }
}
