/** Calls C that allocates, below methods of its own, and takes a direct buffer. */
public class J {
    static native long make(int count);

    static long deep(int depth) { return depth == 0 ? make(1000) : deep(depth - 1) + 1; }

    public static void main(String[] words) {
        System.load(words[0]);
        long sum = 0;
        for (int i = 0; i < 50; i++) sum += deep(i % 8);
        System.out.println(sum + " " + java.nio.ByteBuffer.allocateDirect(1 << 20).capacity());
    }
}
