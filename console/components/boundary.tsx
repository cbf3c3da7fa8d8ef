import { Component, type ReactNode } from "react";
import { complainOf } from "../act.ts";
import { messageOf } from "../api.ts";
import { isLoadFailure, reloadAfterFailure, reloadIfReachable } from "../page-load.ts";
import { checkServer, onServerBack } from "../reachability.ts";
import { t } from "../text/text.ts";
import { PageHead, Problem } from "./page.tsx";

interface Failure {
  message: string | null;
  isLoad: boolean;
}

/** Keeps the navigation when a page fails to load or to render; another address renders again. */
export class Boundary extends Component<{ place: string; children: ReactNode }, Failure> {
  override state: Failure = { message: null, isLoad: false };
  #stopWaiting = () => {};

  static getDerivedStateFromError(thrown: unknown): Failure {
    return { message: messageOf(thrown), isLoad: isLoadFailure(thrown) };
  }

  override componentDidCatch(thrown: unknown): void {
    if (!isLoadFailure(thrown)) return;
    this.#stopWaiting();
    this.#stopWaiting = onServerBack(() => void reloadIfReachable());
    checkServer();
    void reloadAfterFailure();
  }

  override componentWillUnmount(): void {
    this.#stopWaiting();
  }

  override componentDidUpdate({ place }: { place: string }): void {
    if (place === this.props.place || this.state.message === null) return;
    this.#stopWaiting();
    this.setState({ message: null, isLoad: false });
  }

  override render(): ReactNode {
    const { message, isLoad } = this.state;
    if (message === null) return this.props.children;
    if (!isLoad)
      return (
        <>
          <PageHead title={t("app.pageFailed")} about={t("app.pageFailedHint")} />
          <Problem title={t("app.pageFailedTitle")} problem={message} onRetry={() => location.reload()} />
        </>
      );
    return (
      <>
        <PageHead title={t("app.pageNotLoaded")} />
        {/* A browser may remember that the file could not be loaded: only a reload requests it again. */}
        <Problem title={t("words.loadFailed")} problem={t("app.pageNotLoadedHint")} onRetry={retry} />
      </>
    );
  }
}

async function retry(): Promise<void> {
  if (!(await reloadIfReachable())) complainOf(t("app.stillUnreachable"));
}
