import { Buttons, Fields } from "./controls.tsx";
import { Courses, Lists, Services } from "./lists.tsx";
import "./review.css";
import { Frame, Notices, States, Waiting } from "./states.tsx";

/** Every shared component of the console, in each of its states. */
export function Components() {
  return (
    <main className="review">
      <Frame />
      <Buttons />
      <Fields />
      <States />
      <Notices />
      <Waiting />
      <Lists />
      <Services />
      <Courses />
    </main>
  );
}
