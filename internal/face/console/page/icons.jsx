// The icons of this page, in a box of 16 by 16.
const paths = {
  logo: "M4 1.5h8A2.5 2.5 0 0 1 14.5 4v8A2.5 2.5 0 0 1 12 14.5H4A2.5 2.5 0 0 1 1.5 12V4A2.5 2.5 0 0 1 4 1.5zM5 6l2 2-2 2M8.5 10.5h3",
  inbox: "M2 9l2-6h8l2 6v4H2zM2 9h3.5l1 2h3l1-2H14",
  check: "M3 8.5l3 3 7-7",
  cross: "M4 4l8 8M12 4l-8 8",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM11 11l3.5 3.5",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1H3zM7 14h2",
  file: "M4 1.5h5l3 3V14.5H4zM9 1.5v3h3",
  undo: "M5 3L2 6l3 3M2 6h7a4 4 0 0 1 0 8H6",
  call: "M2 8h3l2-5 2 10 2-5h3",
  tool: "M10 2a4 4 0 0 0-3.5 5.5L2 12l2 2 4.5-4.5A4 4 0 0 0 14 6l-2.5 1.5-2-2z",
  folder: "M2 4h4l1.5 2H14v7H2z",
  plug: "M5 2v4M11 2v4M3 6h10v2a5 5 0 0 1-10 0zM8 13v2",
};

export const Icon = ({ name }) => <svg viewBox="0 0 16 16" aria-hidden="true"><path d={paths[name]} /></svg>;
export const iconNames = Object.keys(paths);
