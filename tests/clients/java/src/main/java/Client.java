import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.models.chat.completions.ChatCompletionCreateParams;

/** OpenAI's client for Java, and what it shows of an error. */
public class Client {
  public static void main(String[] arguments) {
    OpenAIClient client = OpenAIOkHttpClient.builder().fromEnv().maxRetries(0).build();
    var question = ChatCompletionCreateParams.builder().model(System.getenv("MODEL")).addUserMessage("Hello").build();
    try {
      client.chat().completions().create(question);
      System.out.println("no error");
    } catch (RuntimeException error) {
      System.out.println(error.getMessage());
    } finally {
      client.close();
    }
  }
}
