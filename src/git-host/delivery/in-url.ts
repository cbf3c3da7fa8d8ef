/** `group/shop` in a URL: each part is encoded, the slashes are not. */
export function inUrl(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
