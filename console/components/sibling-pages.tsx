import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import { isAt, placeAt } from "../places.ts";
import { meQuery } from "../session.ts";
import { t } from "../text/text.ts";

/** The pages that one entry of the navigation leads to, as tabs below the title of each. */
export function SiblingPages() {
  const [location] = useLocation();
  const { data: me } = useQuery({ ...meQuery, enabled: false });
  const place = me && placeAt(location, me.role);
  if (place === undefined || place.pages.length < 2) return null;
  return (
    <nav className="sibling-pages" aria-label={t(`shell.${place.name}`)}>
      {place.pages.map((page) => (
        <Link key={page.href} href={page.href} aria-current={isAt(location, page) ? "page" : undefined}>
          {t(`shell.${page.name}`)}
        </Link>
      ))}
    </nav>
  );
}
