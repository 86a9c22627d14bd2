// Objects, strings and garbage, as a program in Java makes them.
import java.util.HashMap;

class Words {
    public static void main(String[] arguments) {
        HashMap<String, StringBuilder> words = new HashMap<>();
        for (int i = 0; i < 600_000; i++) words.computeIfAbsent("word " + i % 5000, w -> new StringBuilder()).append(i);
        System.out.println(words.size());
    }
}
