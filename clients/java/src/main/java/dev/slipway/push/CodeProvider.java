package dev.slipway.push;

/** Gives a code for each attempt, because codes are single-use. It may block. */
@FunctionalInterface
public interface CodeProvider {
  /** Null ends the attempts: no user is signed in. An exception is a failed attempt. */
  String code() throws Exception;
}
