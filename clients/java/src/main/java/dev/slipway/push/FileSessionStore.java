package dev.slipway.push;

import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** One file for each key. */
public final class FileSessionStore implements SessionStore {
  private final Path folder;

  /** In {@code slipway-push} of {@code $XDG_STATE_HOME}, or of {@code ~/.local/state}. */
  public FileSessionStore() {
    this(stateFolder().resolve("slipway-push"));
  }

  public FileSessionStore(Path folder) {
    this.folder = folder;
  }

  private static Path stateFolder() {
    String given = System.getenv("XDG_STATE_HOME");
    boolean isGiven = given != null && !given.isEmpty();
    return isGiven ? Path.of(given) : Path.of(System.getProperty("user.home"), ".local", "state");
  }

  @Override
  public String read(String key) throws IOException {
    Path path = path(key);
    return Files.exists(path) ? Files.readString(path) : null;
  }

  /** The file is replaced as a whole: a process that is killed leaves the old one or the new one. */
  @Override
  public void write(String key, String value) throws IOException {
    Files.createDirectories(folder);
    Path path = path(key);
    Path written = Path.of(path + ".new");
    Files.writeString(written, value);
    Files.move(written, path, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
  }

  private Path path(String key) {
    return folder.resolve(URLEncoder.encode(key, StandardCharsets.UTF_8) + ".json");
  }
}
