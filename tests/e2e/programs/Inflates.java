import java.util.zip.Inflater;

/** Asks for native memory through compiled code: by the class library's JNI. */
public class Inflates {
    static void make() {
        new Inflater().end();
    }

    static void outer(int depth) {
        if (depth == 0) make();
        else outer(depth - 1);
    }

    public static void main(String[] arguments) {
        for (int i = 0; i < 20_000; ++i) outer(3);
        System.out.println("done");
    }
}
