import { Component, type ReactNode } from "react";
import { messageOf } from "../api.ts";
import { t } from "../text/text.ts";
import { PageHead, Problem } from "./page.tsx";

interface Failure {
  message: string | null;
}

/** Keeps the navigation when a page fails to render; another address renders again. */
export class Boundary extends Component<{ place: string; children: ReactNode }, Failure> {
  override state: Failure = { message: null };

  static getDerivedStateFromError(thrown: unknown): Failure {
    return { message: messageOf(thrown) };
  }

  override componentDidUpdate({ place }: { place: string }): void {
    if (place !== this.props.place && this.state.message !== null) this.setState({ message: null });
  }

  override render(): ReactNode {
    const { message } = this.state;
    if (message === null) return this.props.children;
    return (
      <>
        <PageHead title={t("app.pageFailed")} about={t("app.pageFailedHint")} />
        {/* Only a reload requests a file of the page that could not be loaded. */}
        <Problem title={t("app.pageFailedTitle")} problem={message} onRetry={() => location.reload()} />
      </>
    );
  }
}
