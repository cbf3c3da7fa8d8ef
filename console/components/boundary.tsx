import { Component, type ReactNode } from "react";
import { messageOf } from "../api.ts";
import { PageHead, Problem } from "./page.tsx";

interface Failure {
  message: string | null;
}

/** A page that fails to draw leaves the navigation standing; whoever goes elsewhere is well again. */
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
        <PageHead
          title="This page failed"
          about="Reload it with “Try again”. If it fails again, the text below says why; the navigation leads on."
        />
        {/* A reload and no second drawing: a file of the page that did not come is asked for by that alone. */}
        <Problem problem={message} onRetry={() => location.reload()} />
      </>
    );
  }
}
