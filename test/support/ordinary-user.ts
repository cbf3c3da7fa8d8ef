/** Put before a command: it runs as an ordinary user also if tests run as root, who may read and remove everything. */
export const ordinary = process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] : [];
